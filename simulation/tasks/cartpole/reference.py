import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(dof_pos: Tensor, dof_vel: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    cart_pos = dof_pos[:, 0]
    pole_angle = dof_pos[:, 1]

    upright = 1.0 - pole_angle * pole_angle
    cart_velocity = -0.01 * torch.abs(dof_vel[:, 0])
    pole_velocity = -0.005 * torch.abs(dof_vel[:, 1])

    out_of_bounds = (torch.abs(cart_pos) > 3.0) | (torch.abs(pole_angle) > 1.5707963267948966)
    total_reward = upright + cart_velocity + pole_velocity
    total_reward = torch.where(out_of_bounds, torch.full_like(total_reward, -2.0), total_reward)
    return total_reward, {"upright": upright, "cart_velocity": cart_velocity, "pole_velocity": pole_velocity}
