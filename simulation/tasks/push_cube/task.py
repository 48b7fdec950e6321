"""PushCube's hidden half: start, goal, success."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from simulation.robots.tabletop import JOINTS, Tabletop, lay, spread, stand_flat, to_pose
from simulation.tasks.push_cube.observations import compute_observations
from simulation.worlds import Worlds

HALF = 0.02
"""Half a cube's width in m."""
HIGHEST = 0.025
"""Metres above the table below which the cube's middle counts as on it."""
GOAL_RADIUS = 0.1
GOAL_AHEAD = 0.1 + GOAL_RADIUS
"""Metres from where the cube begins to the middle of the disc."""


class Task(Tabletop):
    """A cube within 0.1 m of where it stands best, a disc ahead of it."""

    columns = 2
    ahead: ClassVar[float] = GOAL_AHEAD

    def place(self, noise: Tensor) -> Tensor:
        """The cube's free joint (n, 7): within 0.1 m of the middle along x and y, not turned."""
        return lay(spread(noise[:, 0], -0.1, 0.1), spread(noise[:, 1], -0.1, 0.1), HALF)

    def begin(self, env: Worlds) -> None:
        """The goal is a fixed way ahead of the cube."""
        cube = env.start_qpos[:, JOINTS:]
        env.goal_pos = torch.stack((cube[:, 0] + self.ahead, cube[:, 1], torch.zeros(env.num_envs)), dim=-1)

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        self.look(env)
        compute_observations(env)

    def look(self, env: Worlds) -> None:
        """Set the variables of the state reached."""
        things, _ = self.read(env)
        env.obj_pose = to_pose(things)
        env.obj_pos = env.obj_pose[:, 0:3]

    def succeeded(self, env: Worlds) -> Tensor:
        """The cube is on the disc and on the table, (n,) bool."""
        apart: Tensor = torch.linalg.vector_norm(env.obj_pos[:, :2] - env.goal_pos[:, :2], dim=-1)
        return (apart < GOAL_RADIUS) & (env.obj_pos[:, 2] < HIGHEST)

    def mocap(self, env: Worlds) -> Tensor:
        """The disc, (n, 1, 7)."""
        return stand_flat(env.goal_pos)
