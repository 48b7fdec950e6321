import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    fingertip_pos: Tensor,
    fingertip_another_pos: Tensor,
    block_right_handle_pos: Tensor,
    block_left_handle_pos: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # each hand's five fingers go to the bucket, or to the block
    right = torch.norm(fingertip_pos - block_right_handle_pos.unsqueeze(1), dim=-1).sum(dim=-1)
    left = torch.norm(fingertip_another_pos - block_left_handle_pos.unsqueeze(1), dim=-1).sum(dim=-1)
    reach = torch.exp(-2.0 * right) + torch.exp(-2.0 * left)

    # block and bucket come together
    gap = torch.norm(block_right_handle_pos - block_left_handle_pos, dim=-1)
    place = 2.0 * torch.exp(-10.0 * gap)

    return reach + place, {"reach": reach, "place": place}
