"""HumanoidPush's hidden half: start, goal, end, success."""

from __future__ import annotations

import torch
from torch import Tensor

from simulation.robots.h1 import H1
from simulation.robots.tabletop import spread, stand_flat
from simulation.tasks.humanoid_push.observations import compute_observations
from simulation.worlds import Worlds

NEAR = 0.05
"""Metres from the box's middle to its goal within which it has arrived."""
HEIGHT = 1.0
"""Metres; of the middle of a box on the table."""


class Task(H1):
    """A box on a table before the robot."""

    columns = 2
    palms_down = True
    lowest = 0.6

    def begin(self, env: Worlds) -> None:
        """A goal up to 0.3 m behind the box and 0.5 m to either side."""
        super().begin(env)
        x, y = env.noise[:, -2], env.noise[:, -1]
        env.goal = torch.stack((spread(x, 0.7, 1.0), spread(y, -0.5, 0.5), torch.full_like(x, HEIGHT)), dim=-1)

    def look(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        box = self.read_thing(env)
        env.box, env.box_vel = box[:, 0:3], box[:, 7:10]
        compute_observations(env)

    def succeeded(self, env: Worlds) -> Tensor:
        """The box is at its goal, (n,) bool."""
        apart: Tensor = torch.linalg.vector_norm(env.box - env.goal, dim=-1)
        return apart < NEAR

    def mocap(self, env: Worlds) -> Tensor:
        """The goal, (n, 1, 7)."""
        return stand_flat(env.goal)
