"""StackCube's hidden half: start, success."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from simulation.robots.tabletop import Tabletop, is_at_rest, is_grasped, lay, spread, to_pose
from simulation.tasks.stack_cube.observations import compute_observations
from simulation.worlds import Worlds

HALF = 0.02
"""Half a cube's width in m."""
APART = 2 * (math.hypot(HALF, HALF) + 0.001)
"""Metres between the cubes' middles at the start, at least."""
BESIDE, HEIGHT_NEAR = math.hypot(HALF, HALF) + 0.005, 0.005
"""Metres by which the upper cube may be beside the lower one, and higher or lower than when it lies on it."""


class Task(Tabletop):
    """A red cube that lies on a green one and is not held."""

    columns = 10

    def place(self, noise: Tensor) -> Tensor:
        """The free joints of cube A and cube B (n, 14): turned at random, apart from one another.

        Both are in a field of 0.2 by 0.4 m, which is itself moved by up to 0.1 m. A second draw for B counts where the
        first is too near to A; where that is, too, B is moved away.
        """
        field = spread(noise[:, 0:2], -0.1, 0.1)
        first, second, third = (spread_over(noise[:, column : column + 2]) for column in (2, 4, 6))
        near = torch.linalg.vector_norm(second - first, dim=-1, keepdim=True) < APART
        second = torch.where(near, third, second)
        away = second - first
        distance = torch.linalg.vector_norm(away, dim=-1, keepdim=True)
        second = first + away * (APART / distance.clamp(min=1e-6)).clamp(min=1.0)
        turns = 2.0 * math.pi * noise[:, 8:10]
        first, second = field + first, field + second
        upper = lay(first[:, 0], first[:, 1], HALF, turns[:, 0])
        return torch.cat((upper, lay(second[:, 0], second[:, 1], HALF, turns[:, 1])), dim=-1)

    def begin(self, env: Worlds) -> None:
        """Nothing is remembered."""

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        things, velocities = self.read(env)
        env.cubeA_pose, env.cubeB_pose = to_pose(things[:, 0:7]), to_pose(things[:, 7:14])
        env.cubeA_pos, env.cubeB_pos = env.cubeA_pose[:, 0:3], env.cubeB_pose[:, 0:3]
        env.cubeA_linvel, env.cubeA_angvel = velocities[:, 0:3], velocities[:, 3:6]
        env.is_grasped = is_grasped(env).float()
        compute_observations(env)

    def succeeded(self, env: Worlds) -> Tensor:
        """Cube A lies on cube B at rest and is not grasped, (n,) bool."""
        offset = env.cubeA_pos - env.cubeB_pos
        beside: Tensor = torch.linalg.vector_norm(offset[:, :2], dim=-1)
        on_top = (beside <= BESIDE) & ((offset[:, 2] - 2 * HALF).abs() <= HEIGHT_NEAR)
        return on_top & is_at_rest(env.cubeA_linvel, env.cubeA_angvel) & (env.is_grasped < 0.5)


def spread_over(noise: Tensor) -> Tensor:
    """Places (n, 2) in the field, from noise (n, 2)."""
    return torch.stack((spread(noise[:, 0], -0.1, 0.1), spread(noise[:, 1], -0.2, 0.2)), dim=-1)
