"""Cartpole: a pole hinged on a cart that a horizontal force pushes along a rail."""

from typing import Any

import torch


def compute_observations(env: Any) -> None:
    """Run after every control step (1/60 s). All tensors are float32, one row per environment.

    env.dof_pos: (num_envs, 2), position of the cart on the rail in m, angle of the pole in rad (0 = upright)
    env.dof_vel: (num_envs, 2), velocity of the cart in m/s, angular velocity of the pole in rad/s
    env.actions: (num_envs, 1), the policy's last action in [-1, 1]; 1 pushes the cart with 400 N towards +x
    """
    env.obs_buf = torch.stack(
        (
            env.dof_pos[:, 0],  # cart position
            env.dof_vel[:, 0],  # cart velocity
            env.dof_pos[:, 1],  # pole angle
            env.dof_vel[:, 1],  # pole angular velocity
        ),
        dim=-1,
    )
