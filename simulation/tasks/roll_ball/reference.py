import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    tcp_pos: Tensor, ball_pos: Tensor, goal_pos: Tensor, reached_status: Tensor
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # first the gripper goes behind the ball, seen from the disc
    away = torch.nn.functional.normalize(ball_pos - goal_pos, dim=-1)
    gap = torch.norm(ball_pos + 0.085 * away - tcp_pos, dim=-1)
    reach = (1.0 - reached_status) * (1.0 - torch.tanh(2.0 * gap))

    # once it was there, what counts is how near the ball is to the disc
    distance = torch.norm(ball_pos[:, 0:2] - goal_pos[:, 0:2], dim=-1)
    roll = reached_status * (1.0 + 20.0 * (1.0 - torch.tanh(distance)))

    done = distance < 0.1
    total_reward = torch.where(done, torch.full_like(reach, 30.0), reach + roll)
    return total_reward, {"reach": reach, "roll": roll, "done": done.float()}
