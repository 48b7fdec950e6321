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

    # once both are there, the wings come together
    there = (right < 0.5) & (left < 0.5)
    gap = torch.abs(door_right_handle_pos[:, 1] - door_left_handle_pos[:, 1])
    close = torch.where(there, 1.0 - 2.0 * gap, torch.zeros_like(gap))

    return reach + close, {"reach": reach, "close": close}
