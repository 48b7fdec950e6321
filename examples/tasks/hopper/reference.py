import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(velocity: Tensor, trunk_height: Tensor, actions: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    forward = velocity[:, 0]
    upright = torch.where(trunk_height > 0.7, 1.0, 0.0)
    effort = -0.001 * torch.sum(actions**2, dim=-1)
    return forward + upright + effort, {"forward": forward, "upright": upright, "effort": effort}
