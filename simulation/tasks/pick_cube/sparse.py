import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(obj_pos: Tensor, goal_pos: Tensor, robot_qvel: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the cube is at its goal and the arm stands still
    apart = torch.norm(goal_pos - obj_pos, dim=-1)
    still = torch.amax(torch.abs(robot_qvel[:, 0:7]), dim=-1) <= 0.2
    done = (apart <= 0.025) & still
    done = done.float()
    return done, {"done": done}
