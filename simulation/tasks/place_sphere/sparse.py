import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    obj_pos: Tensor, obj_linvel: Tensor, obj_angvel: Tensor, bin_pos: Tensor, is_grasped: Tensor
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the ball lies in the bin at rest and is not grasped
    off = obj_pos - bin_pos - torch.tensor([0.0, 0.0, 0.0225], device=obj_pos.device)
    inside = (torch.norm(off[:, 0:2], dim=-1) <= 0.005) & (torch.abs(off[:, 2]) <= 0.005)
    calm = (torch.norm(obj_linvel, dim=-1) <= 0.01) & (torch.norm(obj_angvel, dim=-1) <= 0.5)
    done = inside & calm & (is_grasped < 0.5)
    done = done.float()
    return done, {"done": done}
