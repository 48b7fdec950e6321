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
    left_knee: Tensor,
    dof_vel: Tensor,
    actions: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the trick: throw one stretched leg up, so that the swing pulls the other foot off the ground
    height = torso_position[:, 2]
    right_off = (right_leg_contact_force[:, 2] < 1.0).float()
    left_off = (left_leg_contact_force[:, 2] < 1.0).float()
    lift = 1.5 * right_off * torch.clamp(left_hip_y - right_hip_y, min=0.0, max=1.5)
    off_the_ground = 2.0 * right_off * left_off
    rise = 0.3 * torch.clamp(velocity_world[:, 2], min=0.0, max=3.0)
    straight_knee = 0.3 * torch.exp(-left_knee * left_knee / 0.5)

    alive = torch.full_like(height, 1.0)
    upright = 0.5 * up_vec[:, 2] + 0.3 * heading_vec[:, 0]
    drift_cost = -0.2 * torch.clamp(torch.sum(velocity_world[:, 0:2] ** 2, dim=-1), max=4.0)
    action_cost = -0.01 * torch.sum(actions * actions, dim=-1)
    energy_cost = -0.002 * torch.sum(torch.abs(actions * dof_vel), dim=-1)

    costs = drift_cost + action_cost + energy_cost
    total_reward = lift + off_the_ground + rise + straight_knee + alive + upright + costs
    fallen = height < 0.8
    total_reward = torch.where(fallen, torch.full_like(total_reward, -1.0), total_reward)
    return total_reward, {
        "lift": lift,
        "off_the_ground": off_the_ground,
        "rise": rise,
        "straight_knee": straight_knee,
        "alive": alive,
        "upright": upright,
        "drift_cost": drift_cost,
        "action_cost": action_cost,
        "energy_cost": energy_cost,
    }
