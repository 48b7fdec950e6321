"""AntLieDown's hidden half: termination and metric."""

from __future__ import annotations

import torch
from torch import Tensor

from simulation.robots.legged import Ant
from simulation.tasks.ant_lie_down.info import INFO
from simulation.tasks.ant_lie_down.observations import compute_observations
from simulation.worlds import Worlds

BELLY_UP = 0.9
"""How far down the torso's z axis must point, as a cosine: within 26 degrees."""


class Task(Ant):
    """Ant's body, asked to lie on its back."""

    info = INFO

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        self.read(env)
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """Never: to lie is the task, (n,) bool."""
        return torch.zeros(env.num_envs, dtype=torch.bool)

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """1 where the robot lies on its back (n,), at the end of an episode."""
        return (-env.up_vec[:, 2] > BELLY_UP).to(torch.float32), ended
