import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(ball_positions: Tensor, ball_linvels: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    above_tray = torch.tensor([0.0, 0.0, 0.7], device=ball_positions.device)
    distance = torch.norm(ball_positions - above_tray, dim=-1)
    speed = torch.norm(ball_linvels, dim=-1)

    position_reward = 1.0 / (1.0 + distance)
    speed_reward = 1.0 / (1.0 + speed)

    total_reward = position_reward * speed_reward
    return total_reward, {"position_reward": position_reward, "speed_reward": speed_reward}
