import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(cube_pos: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the cube is less than 0.6 m from the base
    base = torch.tensor([-0.615, 0.0], device=cube_pos.device)
    done = torch.norm(cube_pos[:, 0:2] - base, dim=-1) < 0.6
    done = done.float()
    return done, {"done": done}
