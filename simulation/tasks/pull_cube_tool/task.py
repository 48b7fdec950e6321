"""PullCubeTool's hidden half: start, success."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from simulation.robots.tabletop import Tabletop, is_grasped, lay, spread, to_pose
from simulation.tasks.pull_cube_tool.observations import compute_observations
from simulation.worlds import Worlds

CUBE_HALF, TOOL_HALF = 0.02, 0.025
BASE_X = -0.615
CLOSE = 0.6
"""Metres from the robot's base within which the cube is close."""
SQUARE = 20.0
"""Degrees by which a finger may press aslant."""


class Task(Tabletop):
    """A cube out of reach, and a hook."""

    columns = 5

    def place(self, noise: Tensor) -> Tensor:
        """The free joints of cube and tool (n, 14): the tool beside the robot, along x, the cube ahead."""
        x, y = spread(noise[:, 0], 0.05, 0.25), spread(noise[:, 1], -0.25, 0.05)
        cube = lay(x, y, CUBE_HALF, spread(noise[:, 2], -math.pi / 6, math.pi / 6))
        tool = lay(spread(noise[:, 3], -0.3, -0.1), spread(noise[:, 4], -0.3, -0.1), TOOL_HALF)
        return torch.cat((cube, tool), dim=-1)

    def begin(self, env: Worlds) -> None:
        """Nothing is remembered."""

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        things, _ = self.read(env)
        env.cube_pose, env.tool_pose = to_pose(things[:, 0:7]), to_pose(things[:, 7:14])
        env.cube_pos, env.tool_pos = env.cube_pose[:, 0:3], env.tool_pose[:, 0:3]
        env.is_grasped = is_grasped(env, SQUARE).float()
        compute_observations(env)

    def succeeded(self, env: Worlds) -> Tensor:
        """The cube is close to the robot's base, (n,) bool."""
        x, y = env.cube_pos[:, 0] - BASE_X, env.cube_pos[:, 1]
        return x * x + y * y < CLOSE * CLOSE
