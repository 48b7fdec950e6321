import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    fingertip_pos: Tensor,
    fingertip_another_pos: Tensor,
    cup_right_handle_pos: Tensor,
    cup_left_handle_pos: Tensor,
    object_rot: Tensor,
    goal_rot: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # each hand's five fingers go to its handle
    right = torch.norm(fingertip_pos - cup_right_handle_pos.unsqueeze(1), dim=-1).sum(dim=-1)
    left = torch.norm(fingertip_another_pos - cup_left_handle_pos.unsqueeze(1), dim=-1).sum(dim=-1)
    reach = -right - left

    # how far the cup is turned from its goal, in rad
    object_vec, object_w = object_rot[:, 0:3], object_rot[:, 3:4]
    goal_vec, goal_w = goal_rot[:, 0:3], goal_rot[:, 3:4]
    difference = goal_w * object_vec - object_w * goal_vec - torch.cross(object_vec, goal_vec, dim=-1)
    angle = 2.0 * torch.asin(torch.clamp(torch.norm(difference, dim=-1), max=1.0))
    there = (right < 0.4) & (left < 0.4)
    turn = torch.where(there, 1.0 / (angle + 0.1) - 0.3, torch.zeros_like(angle))

    return reach + turn, {"reach": reach, "turn": turn}
