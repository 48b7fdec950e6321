"""AllegroHand's hidden half: reset, control, termination and metric."""

from __future__ import annotations

from simulation.robots.cube_in_hand import CubeInHand
from simulation.tasks.allegro_hand.observations import compute_observations
from simulation.worlds import Worlds


class Task(CubeInHand):
    """AllegroHand as IsaacGymEnvs resets, drives, ends and measures it."""

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        self.read(env)
        compute_observations(env)
