"""CatchAbreast's hidden half: Over's, side by side and with hands that move."""

from __future__ import annotations

import torch
from torch import Tensor

from simulation.tasks.catch_abreast.observations import compute_observations
from simulation.tasks.over.task import Task as Over
from simulation.worlds import Worlds

ROOM = 0.1
"""Metres from where it begins, within which a wrist must stay."""


class Task(Over):
    """From hand to hand, 0.6 m to the side."""

    places = ((0.0, -0.55, 0.5, 0.0, 0.3925, -1.57), (0.0, -1.15, 0.5, 0.0, -0.3925, -1.57))
    push, turn = 0.5, 1.0
    loose, scatter = 0.0, 0.0
    way = 0.6

    def look(self, env: Worlds) -> None:
        """The egg, its goal, and observations of the state reached."""
        self.look_at_egg(env)
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """The egg has been dropped, or a hand has left its place, (n,) bool."""
        away = torch.zeros(env.num_envs, dtype=torch.bool)
        for first, base in zip((0, self._width), self._bases, strict=True):
            moved: Tensor = torch.linalg.vector_norm(env.qpos[:, first : first + 3] - base[:3], dim=-1)
            away = away | (moved >= ROOM)
        return super().terminated(env) | away
