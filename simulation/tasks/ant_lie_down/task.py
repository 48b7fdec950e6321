"""AntLieDown's hidden half: reset, control, termination and metric."""

from __future__ import annotations

import mujoco
import torch
from torch import Tensor

from simulation.tasks.ant import body
from simulation.tasks.ant_lie_down.info import INFO
from simulation.tasks.ant_lie_down.observations import compute_observations
from simulation.worlds import Worlds

BELLY_UP = 0.9
"""How far down the torso's z axis must point, as a cosine: within 26 degrees."""


class Task:
    """Ant's body, asked to lie on its back."""

    fields = body.FIELDS
    noise_size = body.NOISE_SIZE

    def __init__(self, model: mujoco.MjModel) -> None:
        self._qpos0 = torch.from_numpy(model.qpos0).float()
        self.constants = body.constants(model, INFO.control_dt)

    def start(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Initial qpos (n, 15) and qvel (n, 14) from uniform noise (n, 16): on its feet."""
        return body.start(self._qpos0, self.constants["dof_limits_lower"], self.constants["dof_limits_upper"], noise)

    def begin(self, env: Worlds) -> None:
        """Nothing is remembered over an episode."""

    def control(self, env: Worlds) -> Tensor:
        """Motor controls (n, 8)."""
        return env.actions

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        body.read(env)
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """Never: lying is what it is for, (n,) bool."""
        return torch.zeros(env.num_envs, dtype=torch.bool)

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """1 where the robot lies on its back (n,), at the end of an episode."""
        return (-env.up_vec[:, 2] > BELLY_UP).to(torch.float32), ended
