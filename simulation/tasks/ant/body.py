"""The body that Ant, AntLieDown and AntPatrolAndReturn share: joints, reset, senses, fall."""

from __future__ import annotations

from typing import Any

import mujoco
import torch
from torch import Tensor

from simulation import bodies
from simulation.worlds import Worlds

TERMINATION_HEIGHT = 0.31
"""Metres; a robot whose torso's centre is lower has fallen."""
FIELDS = ("sensordata", "site_xpos")
"""What `read` needs of the physics."""
NOISE_SIZE = 16


def constants(model: mujoco.MjModel, control_dt: float) -> dict[str, Any]:
    """Joint limits (8,) in rad and the scales of the observations."""
    lower, upper = bodies.joint_limits(model)
    return {
        "dof_limits_lower": lower,
        "dof_limits_upper": upper,
        "dt": control_dt,
        "dof_vel_scale": 0.2,
        "contact_force_scale": 0.1,
    }


def start(qpos0: Tensor, lower: Tensor, upper: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """Initial qpos (n, 15) and qvel (n, 14) from uniform noise (n, 16): on its feet, facing x.

    Hinges are within 0.2 rad of 0, inside their limits (8,), and turn at up to 0.1 rad/s.
    """
    rest = torch.zeros(8).clamp(lower, upper)
    qpos = qpos0.repeat(len(noise), 1)
    qpos[:, 7:] = (rest + 0.4 * (noise[:, :8] - 0.5)).clamp(lower, upper)
    qvel = torch.zeros(len(noise), 14)
    qvel[:, 6:] = 0.2 * (noise[:, 8:] - 0.5)
    return qpos, qvel


def read(env: Worlds) -> None:
    """The variables of the state reached that the physics gives: torso, hinges, feet."""
    env.root_states = bodies.root_states(env.qpos, env.qvel)
    env.dof_pos, env.dof_vel = env.qpos[:, 7:], env.qvel[:, 6:]
    env.vec_sensor_tensor = bodies.contact_wrenches(env.sensordata, env.site_xpos)


def fallen(env: Worlds) -> Tensor:
    """The torso is on the ground, (n,) bool."""
    return env.root_states[:, 2] < TERMINATION_HEIGHT
