"""CatchUnderarm's hidden half: Over's, farther apart and with hands that move."""

from __future__ import annotations

import math

from simulation.tasks.catch_underarm.observations import compute_observations
from simulation.tasks.over.task import Task as Over
from simulation.worlds import Worlds


class Task(Over):
    """From palm to palm, 0.4 m."""

    places = ((0.0, 0.0, 0.5, 0.0, 0.0, 0.0), (0.0, -1.15, 0.5, 0.0, 0.0, math.pi))
    push, turn = 0.05, 0.5
    way = 0.4
    floor = 0.1

    def look(self, env: Worlds) -> None:
        """The egg, its goal, and observations of the state reached."""
        self.look_at_egg(env)
        compute_observations(env)
