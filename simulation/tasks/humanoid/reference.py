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
    alive = torch.full_like(progress, 2.0)

    up = torch.where(up_vec[:, 2] > 0.93, torch.full_like(progress, 0.1), torch.zeros_like(progress))

    to_target = targets[:, 0:2] - root_states[:, 0:2]
    to_target = to_target / torch.norm(to_target, dim=-1, keepdim=True)
    heading_proj = torch.sum(heading_vec[:, 0:2] * to_target, dim=-1)
    heading = torch.where(heading_proj > 0.8, torch.full_like(progress, 0.5), 0.5 * heading_proj / 0.8)

    # each motor's strength over the strongest: abdomen, right leg, left leg, right arm, left arm
    strength = torch.tensor(
        [67.5, 67.5, 67.5]
        + [45.0, 45.0, 135.0, 90.0, 22.5, 22.5]
        + [45.0, 45.0, 135.0, 90.0, 22.5, 22.5]
        + [67.5, 67.5, 45.0]
        + [67.5, 67.5, 45.0],
        device=actions.device,
    )
    strength = strength / 135.0
    action_cost = -0.01 * torch.sum(actions * actions, dim=-1)
    energy_cost = -0.05 * torch.sum(torch.abs(actions * dof_vel * dof_vel_scale) * strength, dim=-1)

    # grows from 0 to 0.25 over the last hundredth of a joint's range
    scaled = (2.0 * dof_pos - dof_limits_upper - dof_limits_lower) / (dof_limits_upper - dof_limits_lower)
    beyond = torch.clamp(torch.abs(scaled) - 0.98, min=0.0) / 0.02
    limit_cost = -0.25 * torch.sum(beyond * strength, dim=-1)

    total_reward = progress + alive + up + heading + action_cost + energy_cost + limit_cost
    fallen = root_states[:, 2] < 0.8
    total_reward = torch.where(fallen, torch.full_like(total_reward, -1.0), total_reward)
    return total_reward, {
        "progress": progress,
        "alive": alive,
        "up": up,
        "heading": heading,
        "action_cost": action_cost,
        "energy_cost": energy_cost,
        "limit_cost": limit_cost,
    }
