"""HalfCheetah: two legs in a plane; x points forward, z up."""

from typing import Any

import torch


def compute_observations(env: Any) -> None:
    """Run after every control step (0.05 s). All tensors are float32, one row per environment.

    env.forward_velocity: (num_envs,), how far the trunk moved forward in the last control step, in m/s
    env.dof_pos, env.dof_vel: (num_envs, 9), in the order forward (m), up (m), pitch, back thigh, shin and foot, front
        thigh, shin and foot (rad), and their velocities
    env.actions: (num_envs, 6), the policy's last actions in [-1, 1]: torques of the six joints of the legs
    """
    env.obs_buf = torch.cat((env.dof_pos[:, 1:], env.dof_vel), dim=-1)  # 0:8, 8:17
