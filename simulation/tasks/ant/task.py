"""Ant's hidden half: reset, control, termination and metric."""

from __future__ import annotations

from simulation.robots.legged import Ant, ForwardRun
from simulation.tasks.ant.info import INFO
from simulation.tasks.ant.observations import compute_observations
from simulation.worlds import Worlds


class Task(ForwardRun, Ant):
    """Ant as IsaacGymEnvs resets, ends and measures it."""

    info = INFO

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        self.read(env)
        compute_observations(env)
