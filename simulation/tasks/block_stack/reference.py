import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    fingertip_pos: Tensor,
    fingertip_another_pos: Tensor,
    block_right_handle_pos: Tensor,
    block_left_handle_pos: Tensor,
    goal_pos: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # each hand's five fingers go to its block
    right = torch.norm(fingertip_pos - block_right_handle_pos.unsqueeze(1), dim=-1).sum(dim=-1)
    left = torch.norm(fingertip_another_pos - block_left_handle_pos.unsqueeze(1), dim=-1).sum(dim=-1)
    reach = 1.5 - right - left

    # with both hands there, the blocks go to their places
    above = goal_pos + torch.tensor([0.0, 0.0, 0.05], device=goal_pos.device)
    lower = torch.norm(goal_pos - block_right_handle_pos, dim=-1)
    upper = torch.norm(above - block_left_handle_pos, dim=-1)
    there = (right < 0.5) & (left < 0.5)
    gather = torch.where(there, 2.0 * (0.24 - lower - upper), torch.zeros_like(upper))

    # in place, the upper one is at its height
    level = torch.abs(above[:, 2] - block_left_handle_pos[:, 2])
    near = (lower < 0.07) & (upper < 0.07)
    stack = torch.where(near, 50.0 * (0.05 - level), torch.zeros_like(level))

    return reach + gather + stack, {"reach": reach, "gather": gather, "stack": stack}
