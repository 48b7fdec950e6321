"""LiftPegUpright's hidden half: start, success."""

from __future__ import annotations

import math

from torch import Tensor

from simulation.robots.tabletop import Tabletop, is_grasped, lay, spread, to_pose
from simulation.rotations import quat_to_matrix
from simulation.tasks.lift_peg_upright.observations import compute_observations
from simulation.worlds import Worlds

HALF_LENGTH, HALF_WIDTH = 0.12, 0.025
UPRIGHT = math.cos(0.08)
"""Cosine of the angle to the vertical within which the peg counts as upright."""
HEIGHT_NEAR = 0.005
"""Metres by which its middle may be higher or lower than when it stands."""


class Task(Tabletop):
    """A peg that lies along x, to stand on the table."""

    columns = 2

    def place(self, noise: Tensor) -> Tensor:
        """The peg's free joint (n, 7): within 0.1 m of the middle along x and y, lying along x."""
        return lay(spread(noise[:, 0], -0.1, 0.1), spread(noise[:, 1], -0.1, 0.1), HALF_WIDTH)

    def begin(self, env: Worlds) -> None:
        """Nothing is remembered."""

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        things, _ = self.read(env)
        env.obj_pose = to_pose(things)
        env.obj_pos = env.obj_pose[:, 0:3]
        env.is_grasped = is_grasped(env).float()
        compute_observations(env)

    def succeeded(self, env: Worlds) -> Tensor:
        """The peg stands upright on the table, (n,) bool."""
        vertical = quat_to_matrix(env.obj_pose[:, 3:7])[:, 2, 0].abs()
        return (vertical > UPRIGHT) & ((env.obj_pos[:, 2] - HALF_LENGTH).abs() < HEIGHT_NEAR)
