import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    object_pos: Tensor, object_rot: Tensor, goal_pos: Tensor, goal_rot: Tensor
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # how far the egg is from its goal, in m, and how far it is turned from it, in rad
    distance = torch.norm(goal_pos - object_pos, dim=-1)
    object_vec, object_w = object_rot[:, 0:3], object_rot[:, 3:4]
    goal_vec, goal_w = goal_rot[:, 0:3], goal_rot[:, 3:4]
    difference = goal_w * object_vec - object_w * goal_vec - torch.cross(object_vec, goal_vec, dim=-1)
    angle = 2.0 * torch.asin(torch.clamp(torch.norm(difference, dim=-1), max=1.0))

    # 1 where both are zero; the place counts far more than the turn
    place = torch.exp(-10.0 * distance)
    turn = torch.exp(-0.2 * angle)
    total_reward = place * turn
    return total_reward, {"place": place, "turn": turn}
