"""AntPatrolAndReturn: a four-legged robot with eight hinges on flat ground that runs to a checkpoint and comes back."""

from typing import Any

import torch

from simulation.rotations import quat_to_matrix


def compute_observations(env: Any) -> None:
    """Run after every control step (env.dt = 1/60 s). All tensors are float32, one row per environment.

    env.root_states: (num_envs, 13), the torso in the world frame: position 0:3 in m, quaternion xyzw 3:7,
        linear velocity 7:10 in m/s, angular velocity 10:13 in rad/s; x points ahead at the start, z up
    env.phase: (num_envs,), 0 on the way to the checkpoint, 1 on the way back; it changes within 0.5 m of the checkpoint
    env.targets: (num_envs, 3), where to go now: the checkpoint (4, 0, 0) in phase 0, the start (0, 0, 0) in phase 1
    env.dof_pos, env.dof_vel: (num_envs, 8), hinge angles in rad and velocities in rad/s, in the order hip_1, ankle_1,
        hip_2, ankle_2, hip_3, ankle_3, hip_4, ankle_4 (1 front left, 2 back left, 3 back right, 4 front right)
    env.dof_limits_lower, env.dof_limits_upper: (8,), the range of each hinge in rad
    env.vec_sensor_tensor: (num_envs, 24), force in N (3) and torque in Nm (3) from the ground on each of the
        four feet, in the world frame; all zero while a foot is in the air
    env.actions: (num_envs, 8), the policy's last actions in [-1, 1]; 1 is a torque of 15 Nm
    env.last_position: (num_envs, 3), where the torso was one step before
    """
    torso_position = env.root_states[:, 0:3]
    to_target = env.targets[:, 0:2] - torso_position[:, 0:2]
    distance = torch.linalg.vector_norm(to_target, dim=-1)

    # potentials rise by the distance covered towards the target of this step, divided by dt
    distance_before = torch.linalg.vector_norm(env.targets[:, 0:2] - env.last_position[:, 0:2], dim=-1)
    env.prev_potentials = -distance_before / env.dt
    env.potentials = -distance / env.dt

    # rotation matrix of the torso: its columns are the torso's x, y, z axes in the world
    axes = quat_to_matrix(env.root_states[:, 3:7])
    env.heading_vec = axes[:, :, 0]
    env.up_vec = axes[:, :, 2]

    # linear and angular velocity, and the way up, along the torso's own axes
    local_velocities = torch.bmm(env.root_states[:, 7:13].reshape(-1, 2, 3), axes).flatten(1)
    way_up = axes[:, 2, :]

    # the direction of the target on the ground, ahead and to the left of where the robot faces
    ahead = torch.nn.functional.normalize(env.heading_vec[:, 0:2], dim=-1)
    direction = to_target / (distance + 1e-6).unsqueeze(-1)
    target_ahead = (ahead * direction).sum(-1)
    target_left = ahead[:, 0] * direction[:, 1] - ahead[:, 1] * direction[:, 0]

    dof_pos_scaled = (2.0 * env.dof_pos - env.dof_limits_upper - env.dof_limits_lower) / (
        env.dof_limits_upper - env.dof_limits_lower
    )

    env.obs_buf = torch.cat(
        (
            torso_position[:, 2:3],  # 0: height of the torso
            local_velocities,  # 1:4 linear, 4:7 angular
            way_up,  # 7:10
            torch.stack((target_ahead, target_left, distance, env.phase), dim=-1),  # 10:14
            dof_pos_scaled,  # 14:22, -1 and 1 at the limits
            env.dof_vel * env.dof_vel_scale,  # 22:30
            env.vec_sensor_tensor * env.contact_force_scale,  # 30:54
            env.actions,  # 54:62
        ),
        dim=-1,
    )
