"""Quadcopter: a disc with four rotors on gimbals that should hover at a fixed point, (0, 0, 1); z points up."""

import math
from typing import Any

import torch


def compute_observations(env: Any) -> None:
    """Run after every control step (0.01 s). All tensors are float32, one row per environment.

    env.root_positions, env.root_linvels, env.root_angvels: (num_envs, 3), position in m, linear velocity in m/s and
        angular velocity in rad/s of the chassis, in the world frame
    env.root_quats: (num_envs, 4), rotation of the chassis, quaternion xyzw; (0, 0, 0, 1) is level
    env.dof_positions, env.dof_velocities: (num_envs, 8), angles in rad (within 0.52) and velocities in rad/s of the
        rotors' gimbals, in the order pitch_0, roll_0, pitch_1, roll_1, pitch_2, roll_2, pitch_3, roll_3; the rotors
        sit at 45, 135, 225 and 315 degrees around the chassis, 0.145 m from its centre
    env.thrusts: (num_envs, 4), thrust of each rotor along its own axis in N, from 0 to 2; together 2.47 N carry it
    env.actions: (num_envs, 12), the policy's last actions in [-1, 1]; 0:8 turn the gimbals' target angles at up to
        25 rad/s, 8:12 change the thrusts by up to 2 N per step
    """
    target = torch.tensor([0.0, 0.0, 1.0], device=env.root_positions.device)
    to_target = target - env.root_positions

    env.obs_buf = torch.cat(
        (
            to_target / 3.0,  # 0:3
            env.root_quats,  # 3:7
            env.root_linvels / 2.0,  # 7:10
            env.root_angvels / math.pi,  # 10:13
            env.dof_positions,  # 13:21
        ),
        dim=-1,
    )
