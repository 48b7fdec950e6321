"""LiftUnderarm's hidden half: start, goal, end, success."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from simulation.robots.two_hands import TwoHands, offset_by
from simulation.tasks.lift_underarm.observations import compute_observations
from simulation.worlds import Worlds

GOAL = (0.0, -0.6, 0.85)
"""Where the pot's middle should be, in m."""
RIGHT, LEFT = (0.0, 0.15, 0.06), (0.0, -0.15, 0.06)
"""The handles in the pot's frame, in m."""
NEAR = 0.05
"""Metres from the goal within which the pot has arrived."""
FLOOR = 0.3
"""Height in m of a pot that has fallen."""
FAR = 0.2
"""Metres from a hand to its handle at which an episode ends."""


class Task(TwoHands):
    """A pot between two palms that look up."""

    places = ((0.0, 0.05, 0.45, 0.0, 0.0, 0.0), (0.0, -1.25, 0.45, 0.0, 0.0, math.pi))
    push, turn = 0.25, 1.0

    def look(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        self.read_object(env)
        env.goal_pos = env.object_pos.new_tensor(GOAL).repeat(env.num_envs, 1)
        env.goal_rot = env.object_pos.new_tensor((0.0, 0.0, 0.0, 1.0)).repeat(env.num_envs, 1)
        env.goal_pose = torch.cat((env.goal_pos, env.goal_rot), dim=-1)
        env.pot_right_handle_pos = offset_by(env.object_pose, RIGHT)
        env.pot_left_handle_pos = offset_by(env.object_pose, LEFT)
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """The pot has fallen, or a hand is away from its handle, (n,) bool."""
        right: Tensor = torch.linalg.vector_norm(env.pot_right_handle_pos - env.right_hand_pos, dim=-1)
        left: Tensor = torch.linalg.vector_norm(env.pot_left_handle_pos - env.left_hand_pos, dim=-1)
        return (env.object_pos[:, 2] <= FLOOR) | (right >= FAR) | (left >= FAR)

    def succeeded(self, env: Worlds) -> Tensor:
        """The pot is at its goal, (n,) bool."""
        apart: Tensor = torch.linalg.vector_norm(env.goal_pos - env.object_pos, dim=-1)
        return apart < NEAR

    def mocap(self, env: Worlds) -> Tensor:
        """The goal, (n, 1, 7)."""
        return env.goal_pose.unsqueeze(1)
