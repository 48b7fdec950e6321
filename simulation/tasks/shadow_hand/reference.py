import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    object_pos: Tensor,
    object_rot: Tensor,
    goal_pos: Tensor,
    goal_rot: Tensor,
    actions: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    distance = -10.0 * torch.norm(object_pos - goal_pos, dim=-1)

    # vector part of object_rot times the conjugate of goal_rot: the sine of half the angle between them
    object_vec, object_w = object_rot[:, 0:3], object_rot[:, 3:4]
    goal_vec, goal_w = goal_rot[:, 0:3], goal_rot[:, 3:4]
    difference = goal_w * object_vec - object_w * goal_vec - torch.cross(object_vec, goal_vec, dim=-1)
    angle = 2.0 * torch.asin(torch.clamp(torch.norm(difference, dim=-1), max=1.0))
    rotation = 1.0 / (torch.abs(angle) + 0.1)

    action_cost = -0.0002 * torch.sum(actions * actions, dim=-1)
    success = torch.where(angle <= 0.1, torch.full_like(angle, 250.0), torch.zeros_like(angle))

    total_reward = distance + rotation + action_cost + success
    return total_reward, {
        "distance": distance,
        "rotation": rotation,
        "action_cost": action_cost,
        "success": success,
    }
