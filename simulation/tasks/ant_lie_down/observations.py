"""AntLieDown: a four-legged robot with eight hinges (hip and ankle of each leg) that begins on its feet; z is up."""

from typing import Any

import torch

from simulation.rotations import quat_to_matrix


def compute_observations(env: Any) -> None:
    """Run after every control step (env.dt = 1/60 s). All tensors are float32, one row per environment.

    env.root_states: (num_envs, 13), the torso in the world frame: position 0:3 in m, quaternion xyzw 3:7,
        linear velocity 7:10 in m/s, angular velocity 10:13 in rad/s; the torso is a ball of radius 0.25 m
    env.dof_pos, env.dof_vel: (num_envs, 8), hinge angles in rad and velocities in rad/s, in the order hip_1, ankle_1,
        hip_2, ankle_2, hip_3, ankle_3, hip_4, ankle_4 (1 front left, 2 back left, 3 back right, 4 front right)
    env.dof_limits_lower, env.dof_limits_upper: (8,), the range of each hinge in rad
    env.vec_sensor_tensor: (num_envs, 24), force in N (3) and torque in Nm (3) from the ground on each of the
        four feet, in the world frame; all zero while a foot is in the air
    env.actions: (num_envs, 8), the policy's last actions in [-1, 1]; 1 is a torque of 15 Nm
    env.up_vec, env.heading_vec: (num_envs, 3), the torso's z and x axes in the world; up_vec is (0, 0, 1) when it
        stands level, (0, 0, -1) when it lies level on its back
    """
    # rotation matrix of the torso: its columns are the torso's x, y, z axes in the world
    axes = quat_to_matrix(env.root_states[:, 3:7])
    env.heading_vec = axes[:, :, 0]
    env.up_vec = axes[:, :, 2]

    # linear and angular velocity, and the way up, along the torso's own axes
    local_velocities = torch.bmm(env.root_states[:, 7:13].reshape(-1, 2, 3), axes).flatten(1)
    way_up = axes[:, 2, :]

    dof_pos_scaled = (2.0 * env.dof_pos - env.dof_limits_upper - env.dof_limits_lower) / (
        env.dof_limits_upper - env.dof_limits_lower
    )

    env.obs_buf = torch.cat(
        (
            env.root_states[:, 2:3],  # 0: height of the torso
            local_velocities,  # 1:4 linear, 4:7 angular
            way_up,  # 7:10
            dof_pos_scaled,  # 10:18, -1 and 1 at the limits
            env.dof_vel * env.dof_vel_scale,  # 18:26
            env.vec_sensor_tensor * env.contact_force_scale,  # 26:50
            env.actions,  # 50:58
        ),
        dim=-1,
    )
