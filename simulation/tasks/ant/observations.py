"""Ant: a four-legged robot with eight hinges (hip and ankle of each leg) on flat ground; x points ahead, z up."""

from typing import Any

import torch

from simulation.rotations import atan2, quat_to_matrix, wrap_angle


def compute_observations(env: Any) -> None:
    """Run after every control step (env.dt = 1/60 s). All tensors are float32, one row per environment.

    env.root_states: (num_envs, 13), the torso in the world frame: position 0:3 in m, quaternion xyzw 3:7,
        linear velocity 7:10 in m/s, angular velocity 10:13 in rad/s
    env.dof_pos, env.dof_vel: (num_envs, 8), hinge angles in rad and velocities in rad/s, in the order hip_1, ankle_1,
        hip_2, ankle_2, hip_3, ankle_3, hip_4, ankle_4 (1 front left, 2 back left, 3 back right, 4 front right)
    env.dof_limits_lower, env.dof_limits_upper: (8,), the range of each hinge in rad
    env.vec_sensor_tensor: (num_envs, 24), force in N (3) and torque in Nm (3) from the ground on each of the
        four feet, in the world frame; all zero while a foot is in the air
    env.actions: (num_envs, 8), the policy's last actions in [-1, 1]; 1 is a torque of 15 Nm
    env.targets: (num_envs, 3), a point 1000 m ahead
    env.inv_start_rot: (num_envs, 4), inverse of the torso's rotation when it stands and faces the target
    """
    torso_position = env.root_states[:, 0:3]
    to_target = env.targets[:, 0:2] - torso_position[:, 0:2]
    distance = torch.linalg.vector_norm(to_target, dim=-1)

    # potentials rise by the distance covered towards the target, divided by dt
    env.prev_potentials = env.potentials
    env.potentials = -distance / env.dt

    # rotation matrix of the torso: its columns are the torso's x, y, z axes in the world
    axes = quat_to_matrix(env.root_states[:, 3:7])
    env.heading_vec = axes[:, :, 0]
    env.up_vec = axes[:, :, 2]
    up_proj = env.up_vec[:, 2]
    heading_proj = (env.heading_vec[:, 0:2] * to_target).sum(-1) / distance

    # linear and angular velocity along the torso's own axes
    local_velocities = torch.bmm(env.root_states[:, 7:13].reshape(-1, 2, 3), axes).flatten(1)

    # yaw and roll of the torso, and the direction of the target in the world
    opposite = torch.stack((axes[:, 1, 0], axes[:, 2, 1], to_target[:, 1]))
    adjacent = torch.stack((axes[:, 0, 0], axes[:, 2, 2], to_target[:, 0]))
    yaw, roll, direction = atan2(opposite, adjacent).unbind()
    angle_to_target = wrap_angle(direction - yaw)

    dof_pos_scaled = (2.0 * env.dof_pos - env.dof_limits_upper - env.dof_limits_lower) / (
        env.dof_limits_upper - env.dof_limits_lower
    )

    env.obs_buf = torch.cat(
        (
            torso_position[:, 2:3],  # 0: height of the torso
            local_velocities,  # 1:4 linear, 4:7 angular
            torch.stack((yaw, roll, angle_to_target, up_proj, heading_proj), dim=-1),  # 7:12
            dof_pos_scaled,  # 12:20, -1 and 1 at the limits
            env.dof_vel * env.dof_vel_scale,  # 20:28
            env.vec_sensor_tensor * env.contact_force_scale,  # 28:52
            env.actions,  # 52:60
        ),
        dim=-1,
    )
