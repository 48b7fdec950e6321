import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(forward_velocity: Tensor, actions: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    effort = -0.1 * torch.sum(actions**2, dim=-1)
    return forward_velocity + effort, {"forward": forward_velocity, "effort": effort}
