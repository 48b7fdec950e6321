import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    root_positions: Tensor, root_quats: Tensor, root_angvels: Tensor
) -> Tuple[Tensor, Dict[str, Tensor]]:
    target = torch.tensor([0.0, 0.0, 1.0], device=root_positions.device)
    distance = torch.norm(target - root_positions, dim=-1)
    position = 1.0 / (1.0 + distance * distance)

    up = 1.0 - 2.0 * (root_quats[:, 0] * root_quats[:, 0] + root_quats[:, 1] * root_quats[:, 1])
    tilt = torch.abs(1.0 - up)
    upright = position / (1.0 + tilt * tilt)

    spin = torch.abs(root_angvels[:, 2])
    calm = position / (1.0 + spin * spin)

    total_reward = position + upright + calm
    return total_reward, {"position": position, "upright": upright, "calm": calm}
