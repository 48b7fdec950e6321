import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    root_states: Tensor,
    commands: Tensor,
    torques: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    base_quat = root_states[:, 3:7]
    base_lin_vel = quat_rotate_inverse(base_quat, root_states[:, 7:10])
    base_ang_vel = quat_rotate_inverse(base_quat, root_states[:, 10:13])

    lin_vel_error = torch.sum(torch.square(commands[:, 0:2] - base_lin_vel[:, 0:2]), dim=-1)
    ang_vel_error = torch.square(commands[:, 2] - base_ang_vel[:, 2])

    velocity_temperature = 0.25
    velocity = torch.exp(-lin_vel_error / velocity_temperature)
    yaw_rate = 0.5 * torch.exp(-ang_vel_error / velocity_temperature)
    torque_cost = -2.5e-5 * torch.sum(torch.square(torques), dim=-1)

    total_reward = torch.clamp(velocity + yaw_rate + torque_cost, min=0.0)
    return total_reward, {"velocity": velocity, "yaw_rate": yaw_rate, "torque_cost": torque_cost}
