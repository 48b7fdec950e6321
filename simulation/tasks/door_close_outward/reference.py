import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    fingertip_pos: Tensor,
    fingertip_another_pos: Tensor,
    door_right_handle_pos: Tensor,
    door_left_handle_pos: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # each hand's five fingers go to the handle of its wing
    right = torch.norm(fingertip_pos - door_right_handle_pos.unsqueeze(1), dim=-1).sum(dim=-1)
    left = torch.norm(fingertip_another_pos - door_left_handle_pos.unsqueeze(1), dim=-1).sum(dim=-1)
    reach = 6.0 - right - left

    # the wings come together, whatever moves them; open they are 0.78 m apart
    gap = torch.abs(door_right_handle_pos[:, 1] - door_left_handle_pos[:, 1])
    close = 5.0 * (0.8 - gap)

    return reach + close, {"reach": reach, "close": close}
