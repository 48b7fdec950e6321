import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(bottle_cap_up: Tensor, bottle_pos: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the cap is off
    done = torch.norm(bottle_cap_up - bottle_pos, dim=-1) > 0.03
    done = done.float()
    return done, {"done": done}
