"""PullCube's hidden half: as PushCube's, with the disc between the cube and the robot."""

from __future__ import annotations

import torch
from torch import Tensor

from simulation.tasks.pull_cube.observations import compute_observations
from simulation.tasks.push_cube.task import GOAL_AHEAD
from simulation.tasks.push_cube.task import Task as PushCube
from simulation.worlds import Worlds

GOAL_RADIUS = 0.1


class Task(PushCube):
    """The cube may also arrive in the air."""

    ahead = -GOAL_AHEAD

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        self.look(env)
        compute_observations(env)

    def succeeded(self, env: Worlds) -> Tensor:
        """The cube is above the disc, (n,) bool."""
        apart: Tensor = torch.linalg.vector_norm(env.obj_pos[:, :2] - env.goal_pos[:, :2], dim=-1)
        return apart < GOAL_RADIUS
