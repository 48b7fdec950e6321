import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(obj_pose: Tensor, obj_pos: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the peg stands on the table, either way up
    x, y, z, w = obj_pose[:, 3], obj_pose[:, 4], obj_pose[:, 5], obj_pose[:, 6]
    upright = torch.abs(2.0 * (x * z - w * y))
    done = (upright > 0.99680171) & (torch.abs(obj_pos[:, 2] - 0.12) < 0.005)
    done = done.float()
    return done, {"done": done}
