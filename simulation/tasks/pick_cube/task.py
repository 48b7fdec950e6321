"""PickCube's hidden half: start, goal, success."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from simulation.robots.tabletop import HINGES, Tabletop, is_grasped, is_static, lay, spread, stand_flat, to_pose
from simulation.tasks.pick_cube.observations import compute_observations
from simulation.worlds import Worlds

HALF = 0.02
"""Half a cube's width in m."""
GOAL_NEAR = 0.025
"""Metres from the goal within which the cube is there."""


class Task(Tabletop):
    """A cube that is held still at a point."""

    columns = 6

    def place(self, noise: Tensor) -> Tensor:
        """The cube's free joint (n, 7): within 0.1 m of the middle along x and y, turned at random."""
        x, y = spread(noise[:, 0], -0.1, 0.1), spread(noise[:, 1], -0.1, 0.1)
        return lay(x, y, HALF, 2.0 * math.pi * noise[:, 2])

    def begin(self, env: Worlds) -> None:
        """A goal within 0.1 m of the middle along x and y, up to 0.3 m above the cube."""
        x, y, up = env.noise[:, HINGES + 3 :].unbind(-1)
        env.goal_pos = torch.stack((spread(x, -0.1, 0.1), spread(y, -0.1, 0.1), HALF + 0.3 * up), dim=-1)

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        things, _ = self.read(env)
        env.obj_pose = to_pose(things)
        env.obj_pos = env.obj_pose[:, 0:3]
        env.is_grasped = is_grasped(env).float()
        compute_observations(env)

    def succeeded(self, env: Worlds) -> Tensor:
        """The cube is at its goal and the robot stands still, (n,) bool."""
        apart: Tensor = torch.linalg.vector_norm(env.goal_pos - env.obj_pos, dim=-1)
        return (apart <= GOAL_NEAR) & is_static(env)

    def mocap(self, env: Worlds) -> Tensor:
        """The goal's ball, (n, 1, 7)."""
        return stand_flat(env.goal_pos)
