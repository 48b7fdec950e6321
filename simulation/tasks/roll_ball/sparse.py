import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(ball_pos: Tensor, goal_pos: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the ball is above the disc
    apart = torch.norm(ball_pos[:, 0:2] - goal_pos[:, 0:2], dim=-1)
    done = apart < 0.1
    done = done.float()
    return done, {"done": done}
