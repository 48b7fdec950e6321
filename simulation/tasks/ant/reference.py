import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    root_states: Tensor,
    targets: Tensor,
    potentials: Tensor,
    prev_potentials: Tensor,
    up_vec: Tensor,
    heading_vec: Tensor,
    dof_pos: Tensor,
    dof_vel: Tensor,
    dof_limits_lower: Tensor,
    dof_limits_upper: Tensor,
    actions: Tensor,
    dof_vel_scale: float,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    progress = potentials - prev_potentials
    alive = torch.full_like(progress, 0.5)

    up = torch.where(up_vec[:, 2] > 0.93, torch.full_like(progress, 0.1), torch.zeros_like(progress))

    to_target = targets[:, 0:2] - root_states[:, 0:2]
    to_target = to_target / torch.norm(to_target, dim=-1, keepdim=True)
    heading_proj = torch.sum(heading_vec[:, 0:2] * to_target, dim=-1)
    heading = torch.where(heading_proj > 0.8, torch.full_like(progress, 0.5), 0.5 * heading_proj / 0.8)

    action_cost = -0.005 * torch.sum(actions * actions, dim=-1)
    energy_cost = -0.05 * torch.sum(torch.abs(actions * dof_vel * dof_vel_scale), dim=-1)
    scaled = (2.0 * dof_pos - dof_limits_upper - dof_limits_lower) / (dof_limits_upper - dof_limits_lower)
    limit_cost = -0.1 * torch.sum((torch.abs(scaled) > 0.99).float(), dim=-1)

    total_reward = progress + alive + up + heading + action_cost + energy_cost + limit_cost
    fallen = root_states[:, 2] < 0.31
    total_reward = torch.where(fallen, torch.full_like(total_reward, -2.0), total_reward)
    return total_reward, {
        "progress": progress,
        "alive": alive,
        "up": up,
        "heading": heading,
        "action_cost": action_cost,
        "energy_cost": energy_cost,
        "limit_cost": limit_cost,
    }
