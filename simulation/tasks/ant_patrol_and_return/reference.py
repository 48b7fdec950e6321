import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    root_states: Tensor,
    targets: Tensor,
    phase: Tensor,
    potentials: Tensor,
    prev_potentials: Tensor,
    up_vec: Tensor,
    heading_vec: Tensor,
    dof_vel: Tensor,
    actions: Tensor,
    dof_vel_scale: float,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # fast enough is 3 m/s: there is a turn to come
    progress = 2.0 * torch.clamp(potentials - prev_potentials, max=3.0)

    to_target = targets[:, 0:2] - root_states[:, 0:2]
    distance = torch.norm(to_target, dim=-1)
    direction = to_target / (distance + 0.1).unsqueeze(-1)
    heading = 0.3 * torch.sum(heading_vec[:, 0:2] * direction, dim=-1)

    alive = 0.3 + 0.1 * (up_vec[:, 2] > 0.93).float()
    home = 3.0 * phase * torch.exp(-distance / 0.5)

    action_cost = -0.005 * torch.sum(actions * actions, dim=-1)
    energy_cost = -0.05 * torch.sum(torch.abs(actions * dof_vel * dof_vel_scale), dim=-1)

    total_reward = progress + heading + alive + home + action_cost + energy_cost
    fallen = root_states[:, 2] < 0.31
    total_reward = torch.where(fallen, torch.full_like(total_reward, -2.0), total_reward)
    return total_reward, {
        "progress": progress,
        "heading": heading,
        "alive": alive,
        "home": home,
        "action_cost": action_cost,
        "energy_cost": energy_cost,
    }
