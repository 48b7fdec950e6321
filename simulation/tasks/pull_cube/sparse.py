import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(obj_pos: Tensor, goal_pos: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the cube is above the disc
    apart = torch.norm(obj_pos[:, 0:2] - goal_pos[:, 0:2], dim=-1)
    done = apart < 0.1
    done = done.float()
    return done, {"done": done}
