import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(package_location: Tensor, package_destination: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the package is at its destination
    done = (torch.norm(package_location - package_destination, dim=-1) < 0.1).float()
    return done, {"done": done}
