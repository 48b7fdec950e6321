"""PokeCube's hidden half: start, goal, success."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from simulation.robots.tabletop import (
    JOINTS,
    Tabletop,
    find_yaw,
    is_grasped,
    is_static,
    lay,
    spread,
    stand_flat,
    to_pose,
)
from simulation.rotations import quat_rotate, wrap_angle
from simulation.tasks.poke_cube.observations import compute_observations
from simulation.worlds import Worlds

CUBE_HALF, PEG_HALF_WIDTH, PEG_HALF_LENGTH = 0.02, 0.025, 0.12
GOAL_RADIUS = 0.05
CUBE_AHEAD, GOAL_AHEAD = PEG_HALF_LENGTH + 0.1, 0.05 + GOAL_RADIUS
"""Metres along x from the peg's middle to the cube, and from the cube to the disc."""


class Task(Tabletop):
    """A cube that has been pushed onto a disc, and a robot that stands still."""

    columns = 4

    def place(self, noise: Tensor) -> Tensor:
        """The free joints of cube and peg (n, 14): the peg lies along x, the cube before its head."""
        x, peg_y, cube_y = (spread(noise[:, column], -0.1, 0.1) for column in range(3))
        cube = lay(x + CUBE_AHEAD, cube_y, CUBE_HALF, spread(noise[:, 3], -math.pi / 6, math.pi / 6))
        return torch.cat((cube, lay(x, peg_y, PEG_HALF_WIDTH)), dim=-1)

    def begin(self, env: Worlds) -> None:
        """The goal is a fixed way ahead of the cube."""
        cube = env.start_qpos[:, JOINTS:]
        env.goal_pos = torch.stack((cube[:, 0] + GOAL_AHEAD, cube[:, 1], torch.zeros(env.num_envs)), dim=-1)

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        things, _ = self.read(env)
        env.cube_pose, env.peg_pose = to_pose(things[:, 0:7]), to_pose(things[:, 7:14])
        env.cube_pos, env.peg_pos = env.cube_pose[:, 0:3], env.peg_pose[:, 0:3]
        head = torch.zeros_like(env.peg_pos)
        head[:, 0] = PEG_HALF_LENGTH
        env.peg_head_pos = env.peg_pos + quat_rotate(env.peg_pose[:, 3:7], head)
        env.angle_diff = wrap_angle(find_yaw(env.peg_pose) - find_yaw(env.cube_pose)).abs()
        env.is_grasped = is_grasped(env).float()
        compute_observations(env)

    def succeeded(self, env: Worlds) -> Tensor:
        """The cube is on the disc and the robot stands still, (n,) bool."""
        apart: Tensor = torch.linalg.vector_norm(env.cube_pos[:, :2] - env.goal_pos[:, :2], dim=-1)
        return (apart < GOAL_RADIUS) & is_static(env)

    def mocap(self, env: Worlds) -> Tensor:
        """The disc, (n, 1, 7)."""
        return stand_flat(env.goal_pos)
