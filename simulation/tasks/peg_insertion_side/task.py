"""PegInsertionSide's hidden half: start, success."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from simulation.robots.tabletop import REST, Tabletop, is_grasped, lay, spread, stand_turned, to_pose
from simulation.rotations import quat_rotate, quat_rotate_inverse
from simulation.tasks.peg_insertion_side.observations import compute_observations
from simulation.worlds import Worlds

HALF_LENGTH, HALF_WIDTH, HOLE_RADIUS = 0.105, 0.02, 0.023
"""Half of the peg's length and width, and of the hole's width, in m: the middle of the published ranges."""
DEEP = -0.015
"""Metres along the hole, from its middle, which the peg's head must have passed."""
SQUARE = 20.0
"""Degrees by which a finger may press aslant."""


class Task(Tabletop):
    """A peg whose head is in the middle of a box."""

    columns = 6
    rest = (*REST[:6], -math.pi / 4)

    def place(self, noise: Tensor) -> Tensor:
        """The peg's free joint, and the box's place and turn (n, 10): the peg beside the robot, the box to its left."""
        peg_x, peg_y = spread(noise[:, 0], -0.1, 0.1), spread(noise[:, 1], -0.3, 0.0)
        peg = lay(peg_x, peg_y, HALF_WIDTH, spread(noise[:, 2], math.pi / 6, 5 * math.pi / 6))
        x, y = spread(noise[:, 3], -0.05, 0.05), spread(noise[:, 4], 0.2, 0.4)
        yaw = spread(noise[:, 5], math.pi / 2 - math.pi / 8, math.pi / 2 + math.pi / 8)
        return torch.cat((peg, torch.stack((x, y, yaw), dim=-1)), dim=-1)

    def begin(self, env: Worlds) -> None:
        """Sizes are equal in all worlds."""
        env.peg_half_size = torch.tensor([HALF_LENGTH, HALF_WIDTH, HALF_WIDTH]).repeat(env.num_envs, 1)
        env.box_hole_radius = torch.full((env.num_envs,), HOLE_RADIUS)

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        things, _ = self.read(env)
        env.peg_pose, env.box_hole_pose = to_pose(things[:, 0:7]), stand_turned(things[:, 7:10], HALF_LENGTH)
        env.peg_pos, env.box_hole_pos = env.peg_pose[:, 0:3], env.box_hole_pose[:, 0:3]
        head = torch.zeros_like(env.peg_pos)
        head[:, 0] = HALF_LENGTH
        env.peg_head_pos = env.peg_pos + quat_rotate(env.peg_pose[:, 3:7], head)
        env.is_grasped = is_grasped(env, SQUARE).float()
        compute_observations(env)

    def succeeded(self, env: Worlds) -> Tensor:
        """The peg's head is in the hole, and half way through, (n,) bool."""
        head = quat_rotate_inverse(env.box_hole_pose[:, 3:7], env.peg_head_pos - env.box_hole_pos)
        inside: Tensor = head[:, 1:3].abs().amax(dim=-1)
        return (head[:, 0] >= DEEP) & (inside <= HOLE_RADIUS)
