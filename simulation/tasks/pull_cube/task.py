"""PullCube's hidden half: as PushCube's, with the disc between the cube and the robot."""

from __future__ import annotations

import math

from simulation.tasks.pull_cube.observations import compute_observations
from simulation.tasks.push_cube.task import GOAL_AHEAD
from simulation.tasks.push_cube.task import Task as PushCube
from simulation.worlds import Worlds


class Task(PushCube):
    """The cube may also arrive in the air."""

    ahead = -GOAL_AHEAD
    highest = math.inf

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        self.look(env)
        compute_observations(env)
