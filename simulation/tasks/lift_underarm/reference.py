import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    right_hand_pos: Tensor,
    left_hand_pos: Tensor,
    pot_right_handle_pos: Tensor,
    pot_left_handle_pos: Tensor,
    object_pos: Tensor,
    goal_pos: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # each hand goes to its handle
    right = torch.norm(pot_right_handle_pos - right_hand_pos, dim=-1)
    left = torch.norm(pot_left_handle_pos - left_hand_pos, dim=-1)
    reach = 0.2 - right - left

    # with both hands there the pot rises
    there = (right < 0.08) & (left < 0.08)
    gap = torch.norm(goal_pos - object_pos, dim=-1)
    lift = torch.where(there, 3.0 * (0.4 - gap), torch.zeros_like(gap))

    return reach + lift, {"reach": reach, "lift": lift}
