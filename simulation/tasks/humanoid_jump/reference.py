import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    torso_position: Tensor,
    velocity_world: Tensor,
    up_vec: Tensor,
    heading_vec: Tensor,
    right_leg_contact_force: Tensor,
    left_leg_contact_force: Tensor,
    right_hip_y: Tensor,
    left_hip_y: Tensor,
    right_knee: Tensor,
    left_knee: Tensor,
    dof_vel: Tensor,
    actions: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    height = torso_position[:, 2]
    right_airborne = (right_leg_contact_force[:, 2] < 1.0).float()
    left_airborne = (left_leg_contact_force[:, 2] < 1.0).float()
    airborne = right_airborne * left_airborne * (height > 1.0).float()  # not on its knees
    grounded = (1.0 - right_airborne) * (1.0 - left_airborne)

    # both legs do the same: a lifted leg is no jump
    symmetry_temperature = 0.3
    difference = (right_hip_y - left_hip_y) ** 2 + (right_knee - left_knee) ** 2
    symmetry = torch.exp(-difference / symmetry_temperature)

    # bend the knees on the ground, rise with both legs, be high while no foot touches the ground
    crouch = 0.3 * grounded * symmetry * torch.clamp(-0.5 * (right_knee + left_knee), min=0.0, max=1.2)
    rise = 1.0 * symmetry * torch.clamp(velocity_world[:, 2], min=0.0, max=3.0)
    flight = airborne * symmetry * (1.0 + 4.0 * torch.clamp(height - 1.2, min=0.0, max=0.6))

    alive = torch.full_like(height, 1.0)
    upright = 0.5 * up_vec[:, 2] + 0.3 * heading_vec[:, 0]
    drift_cost = -0.2 * torch.clamp(torch.sum(velocity_world[:, 0:2] ** 2, dim=-1), max=4.0)
    action_cost = -0.01 * torch.sum(actions * actions, dim=-1)
    energy_cost = -0.002 * torch.sum(torch.abs(actions * dof_vel), dim=-1)

    total_reward = crouch + rise + flight + alive + upright + 0.3 * symmetry + drift_cost + action_cost + energy_cost
    fallen = height < 0.8
    total_reward = torch.where(fallen, torch.full_like(total_reward, -1.0), total_reward)
    return total_reward, {
        "crouch": crouch,
        "rise": rise,
        "flight": flight,
        "alive": alive,
        "upright": upright,
        "symmetry": 0.3 * symmetry,
        "drift_cost": drift_cost,
        "action_cost": action_cost,
        "energy_cost": energy_cost,
    }
