import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(basketball_position: Tensor, hoop_center: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the ball goes in
    done = (torch.norm(basketball_position - hoop_center, dim=-1) < 0.05).float()
    return done, {"done": done}
