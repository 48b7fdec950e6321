import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    cubeA_pos: Tensor, cubeA_linvel: Tensor, cubeA_angvel: Tensor, cubeB_pos: Tensor, is_grasped: Tensor
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # cube A lies on cube B at rest and is not grasped
    off = cubeA_pos - cubeB_pos - torch.tensor([0.0, 0.0, 0.04], device=cubeA_pos.device)
    on_top = (torch.norm(off[:, 0:2], dim=-1) <= 0.03328427) & (torch.abs(off[:, 2]) <= 0.005)
    calm = (torch.norm(cubeA_linvel, dim=-1) <= 0.01) & (torch.norm(cubeA_angvel, dim=-1) <= 0.5)
    done = on_top & calm & (is_grasped < 0.5)
    done = done.float()
    return done, {"done": done}
