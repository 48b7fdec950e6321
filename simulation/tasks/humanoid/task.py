"""Humanoid's hidden half: reset, control, termination and metric."""

from __future__ import annotations

from simulation.robots.legged import ForwardRun, Humanoid
from simulation.tasks.humanoid.info import INFO
from simulation.tasks.humanoid.observations import compute_observations
from simulation.worlds import Worlds


class Task(ForwardRun, Humanoid):
    """Humanoid as IsaacGymEnvs resets, ends and measures it."""

    info = INFO

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        self.read(env)
        compute_observations(env)
