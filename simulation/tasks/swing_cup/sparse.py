import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(object_rot: Tensor, goal_rot: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the cup is turned as it should be: half the angle between both has this sine
    object_vec, object_w = object_rot[:, 0:3], object_rot[:, 3:4]
    goal_vec, goal_w = goal_rot[:, 0:3], goal_rot[:, 3:4]
    difference = goal_w * object_vec - object_w * goal_vec - torch.cross(object_vec, goal_vec, dim=-1)
    done = torch.norm(difference, dim=-1) < 0.3824995
    done = done.float()
    return done, {"done": done}
