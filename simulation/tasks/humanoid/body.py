"""The body that Humanoid and HumanoidJump share: joints, reset, fall."""

from __future__ import annotations

from typing import Any

import mujoco
import torch
from torch import Tensor

from simulation import bodies
from simulation.worlds import Worlds

DOFS = 21
TERMINATION_HEIGHT = 0.8
"""Metres; an episode ends when the torso's centre is lower. Standing, it is at 1.28 m."""
FIELDS = ("sensordata", "qfrc_actuator", "site_xpos")
"""What `read` needs of the physics: contact sensors and sites are those of the right foot, then the left."""
FOOT_SENSORS = slice(0, 18)
NOISE_SIZE = 2 * DOFS


def constants(model: mujoco.MjModel, control_dt: float) -> dict[str, Any]:
    """Joint limits (21,) in rad and the scales of the observations."""
    lower, upper = bodies.joint_limits(model)
    return {
        "dof_limits_lower": lower,
        "dof_limits_upper": upper,
        "dt": control_dt,
        "dof_vel_scale": 0.1,
        "contact_force_scale": 0.01,
        "angular_velocity_scale": 0.25,
    }


def start(qpos0: Tensor, lower: Tensor, upper: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """Initial qpos (n, 28) and qvel (n, 27) from uniform noise (n, 42): upright, feet just above the ground.

    Hinges are within 0.2 rad of 0, inside their limits (21,), and turn at up to 0.1 rad/s.
    """
    qpos = qpos0.repeat(len(noise), 1)
    qpos[:, 7:] = (0.4 * (noise[:, :DOFS] - 0.5)).clamp(lower, upper)
    qvel = torch.zeros(len(noise), 6 + DOFS)
    qvel[:, 6:] = 0.2 * (noise[:, DOFS:] - 0.5)
    return qpos, qvel


def read(env: Worlds) -> None:
    """The variables of the state reached that the physics gives: base, hinges, motors, feet."""
    env.root_states = bodies.root_states(env.qpos, env.qvel)
    env.dof_pos, env.dof_vel = env.qpos[:, 7:], env.qvel[:, 6:]
    env.dof_force_tensor = env.qfrc_actuator[:, 6:]
    env.vec_sensor_tensor = bodies.contact_wrenches(env.sensordata[:, FOOT_SENSORS], env.site_xpos)


def fallen(env: Worlds) -> Tensor:
    """The torso is near the ground, (n,) bool."""
    return env.root_states[:, 2] < TERMINATION_HEIGHT
