"""Ant's hidden half: reset, control, termination and metric."""

from __future__ import annotations

import mujoco
import torch
from torch import Tensor

from simulation.tasks.ant import body
from simulation.tasks.ant.info import INFO
from simulation.tasks.ant.observations import compute_observations
from simulation.worlds import Worlds

TARGET = (1000.0, 0.0, 0.0)


class Task:
    """Ant as IsaacGymEnvs resets, ends and measures it."""

    fields = body.FIELDS
    noise_size = body.NOISE_SIZE

    def __init__(self, model: mujoco.MjModel) -> None:
        self._qpos0 = torch.from_numpy(model.qpos0).float()
        self.constants = body.constants(model, INFO.control_dt)

    def start(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Initial qpos (n, 15) and qvel (n, 14) from uniform noise (n, 16)."""
        return body.start(self._qpos0, self.constants["dof_limits_lower"], self.constants["dof_limits_upper"], noise)

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
        body.read(env)
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """The robot fell, (n,) bool."""
        return body.fallen(env)

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """Forward progress in m/s (n,); it counts in every step."""
        return env.potentials - env.prev_potentials, torch.ones_like(ended)
