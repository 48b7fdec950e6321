"""GraspAndPlace's hidden half: start, end, success."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from simulation.robots.two_hands import TwoHands, sum_gaps
from simulation.tasks.grasp_and_place.observations import compute_observations
from simulation.worlds import Worlds

NEAR = 0.2
"""Metres between bucket and block within which the block is placed."""
FAR = 1.5
"""Metres, summed over a hand's five fingers, from its thing at which an episode ends."""
GOAL = (-0.3, 0.0, 0.6)
"""Bi-DexHands' goal in m: a point of the table on the far side. Success does not read it."""


class Task(TwoHands):
    """A bucket and a block on a table, below the palms."""

    places = ((0.55, 0.2, 0.8, math.pi, 0.0, 1.57), (0.55, -0.2, 0.8, math.pi, 0.0, 1.57))

    def look(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        self.read_object(env)
        env.block_right_handle_pos, env.block_right_handle_rot = env.object_pos, env.object_rot
        block = self.read_thing(env, 7)
        env.block_left_handle_pos, env.block_left_handle_rot = block[:, 0:3], block[:, 3:7]
        env.goal_pos = env.object_pos.new_tensor(GOAL).repeat(env.num_envs, 1)
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """A hand is far from its thing, (n,) bool."""
        right = sum_gaps(env, "right", env.block_right_handle_pos)
        left = sum_gaps(env, "left", env.block_left_handle_pos)
        return (right >= FAR) | (left >= FAR)

    def succeeded(self, env: Worlds) -> Tensor:
        """The block is at the bucket, (n,) bool."""
        apart: Tensor = torch.linalg.vector_norm(env.block_right_handle_pos - env.block_left_handle_pos, dim=-1)
        return apart < NEAR
