"""BlockStack's hidden half: start, goal, end, success."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from simulation.robots.two_hands import TwoHands, sum_gaps
from simulation.tasks.block_stack.observations import compute_observations
from simulation.worlds import Worlds

GOAL = (0.0, 0.0, 0.625)
"""Where the lower block should be, in m."""
HEIGHT = 0.05
"""Metres from the lower block's middle to the upper one's."""
NEAR, LEVEL = 0.07, 0.03
"""Metres from its place within which a block is there, and within which the upper one is at its height."""
FAR = 0.75
"""Metres, summed over a hand's five fingers, from its block at which an episode ends."""


class Task(TwoHands):
    """Two blocks below two palms."""

    places = ((0.0, 0.6, 0.7, math.pi, 0.0, math.pi), (0.0, -0.6, 0.7, math.pi, 0.0, 0.0))
    push, turn = 0.2, 0.02

    def look(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        self.read_object(env)
        block = self.read_thing(env, 7)
        env.block_pose, env.block_pos, env.block_rot = block[:, 0:7], block[:, 0:3], block[:, 3:7]
        env.block_linvel, env.block_angvel = block[:, 7:10], block[:, 10:13]
        env.block_right_handle_pos, env.block_left_handle_pos = env.object_pos, env.block_pos
        env.goal_pos = env.object_pos.new_tensor(GOAL).repeat(env.num_envs, 1)
        env.goal_rot = env.object_pos.new_tensor((0.0, 0.0, 0.0, 1.0)).repeat(env.num_envs, 1)
        env.goal_pose = torch.cat((env.goal_pos, env.goal_rot), dim=-1)
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """A hand is away from its block, (n,) bool."""
        return (sum_gaps(env, "right", env.object_pos) >= FAR) | (sum_gaps(env, "left", env.block_pos) >= FAR)

    def succeeded(self, env: Worlds) -> Tensor:
        """Both blocks are at their places and the left one is above, (n,) bool."""
        above = env.goal_pos + env.goal_pos.new_tensor((0.0, 0.0, HEIGHT))
        lower: Tensor = torch.linalg.vector_norm(env.goal_pos - env.block_right_handle_pos, dim=-1)
        upper: Tensor = torch.linalg.vector_norm(above - env.block_left_handle_pos, dim=-1)
        level = (above - env.block_left_handle_pos)[:, 2].abs() < LEVEL
        return (lower < NEAR) & (upper < NEAR) & level
