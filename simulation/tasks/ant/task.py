"""Ant's hidden half: reset, control, termination and metric."""

from __future__ import annotations

from typing import Any

import mujoco
import torch
from torch import Tensor

from simulation import bodies
from simulation.tasks.ant.info import INFO
from simulation.tasks.ant.observations import compute_observations
from simulation.worlds import Worlds

TERMINATION_HEIGHT = 0.31
"""Metres; an episode ends when the torso's centre is lower."""
TARGET = (1000.0, 0.0, 0.0)


class Task:
    """Ant as IsaacGymEnvs resets, ends and measures it."""

    fields = ("sensordata", "site_xpos")
    noise_size = 16

    def __init__(self, model: mujoco.MjModel) -> None:
        lower, upper = bodies.joint_limits(model)
        self._qpos0 = torch.from_numpy(model.qpos0).float()
        self.constants: dict[str, Any] = {
            "dof_limits_lower": lower,
            "dof_limits_upper": upper,
            "dt": INFO.control_dt,
            "dof_vel_scale": 0.2,
            "contact_force_scale": 0.1,
        }

    def start(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Initial qpos (n, 15) and qvel (n, 14) from uniform noise (n, 16).

        Hinges are within 0.2 rad of 0, inside their limits, and turn at up to 0.1 rad/s.
        """
        lower, upper = self.constants["dof_limits_lower"], self.constants["dof_limits_upper"]
        rest = torch.zeros(8).clamp(lower, upper)
        qpos = self._qpos0.repeat(len(noise), 1)
        qpos[:, 7:] = (rest + 0.4 * (noise[:, :8] - 0.5)).clamp(lower, upper)
        qvel = torch.zeros(len(noise), 14)
        qvel[:, 6:] = 0.2 * (noise[:, 8:] - 0.5)
        return qpos, qvel

    def begin(self, env: Worlds) -> None:
        """What holds for a whole episode, and the potential at its start."""
        env.targets = torch.tensor(TARGET).repeat(env.num_envs, 1)
        env.inv_start_rot = torch.tensor((0.0, 0.0, 0.0, 1.0)).repeat(env.num_envs, 1)
        start = torch.linalg.vector_norm(env.targets[:, :2] - env.start_qpos[:, :2], dim=-1)
        env.potentials = -start / INFO.control_dt

    def control(self, env: Worlds) -> Tensor:
        """Motor controls (n, 8)."""
        return env.actions

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        env.root_states = bodies.root_states(env.qpos, env.qvel)
        env.dof_pos, env.dof_vel = env.qpos[:, 7:], env.qvel[:, 6:]
        env.vec_sensor_tensor = bodies.contact_wrenches(env.sensordata, env.site_xpos)
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """The torso is on the ground, (n,) bool."""
        return env.root_states[:, 2] < TERMINATION_HEIGHT

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """Forward progress in m/s (n,); it counts in every step."""
        return env.potentials - env.prev_potentials, torch.ones_like(ended)
