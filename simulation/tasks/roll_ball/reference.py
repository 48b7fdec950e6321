import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    tcp_pos: Tensor, ball_pos: Tensor, ball_vel: Tensor, goal_pos: Tensor, reached_status: Tensor
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # first the gripper goes behind the ball, seen from the disc
    away = torch.nn.functional.normalize(ball_pos - goal_pos, dim=-1)
    gap = torch.norm(ball_pos + 0.085 * away - tcp_pos, dim=-1)
    reach = (1.0 - reached_status) * (1.0 - torch.tanh(2.0 * gap))

    # once it was there, what counts is how near the ball is to the disc
    apart = (goal_pos - ball_pos)[:, 0:2]
    distance = torch.norm(apart, dim=-1)
    roll = reached_status * (1.0 + 20.0 * (1.0 - torch.tanh(distance)))

    # and how far from the disc's middle it will pass, if it rolls on as it does
    speed = torch.norm(ball_vel[:, 0:2], dim=-1)
    ahead = torch.sum(ball_vel[:, 0:2] * apart, dim=-1) > 0.2 * distance
    miss = torch.abs(ball_vel[:, 0] * apart[:, 1] - ball_vel[:, 1] * apart[:, 0]) / speed.clamp(min=0.01)
    aim = 10.0 * reached_status * ahead.float() * (1.0 - torch.tanh(5.0 * miss))

    done = distance < 0.1
    total_reward = torch.where(done, torch.full_like(reach, 50.0), reach + roll + aim)
    return total_reward, {"reach": reach, "roll": roll, "aim": aim, "done": done.float()}
