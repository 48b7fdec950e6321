"""Hopper: one leg in a plane; x points forward, z up."""

from typing import Any

import torch


def compute_observations(env: Any) -> None:
    """Run after every control step (0.01 s). All tensors are float32, one row per environment.

    env.trunk_height: (num_envs,), height of the trunk's centre in m; 1.25 when it stands straight
    env.trunk_pitch: (num_envs,), lean of the trunk in rad; positive is forward
    env.velocity: (num_envs, 2), velocity of the trunk in m/s: forward, up
    env.dof_pos, env.dof_vel: (num_envs, 6), in the order forward (m), up (m), pitch, hip, knee, ankle (rad), and their
        velocities; hip and knee bend from 0 to -2.62, the ankle within 0.79
    env.actions: (num_envs, 3), the policy's last actions in [-1, 1]: torques of hip, knee and ankle, 200 Nm at 1
    """
    env.trunk_height, env.trunk_pitch = env.dof_pos[:, 1], env.dof_pos[:, 2]
    env.velocity = env.dof_vel[:, 0:2]
    env.obs_buf = torch.cat((env.dof_pos[:, 1:], env.dof_vel.clamp(-10.0, 10.0)), dim=-1)  # 0:5, 5:11
