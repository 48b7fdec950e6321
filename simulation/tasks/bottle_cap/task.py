"""BottleCap's hidden half: start, end, success."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from simulation.robots.two_hands import TwoHands, offset_by
from simulation.tasks.bottle_cap.observations import compute_observations
from simulation.worlds import Worlds

CAP = (0.0, 0.0, 0.15)
"""The place of a closed cap in the bottle's frame, in m."""
OFF = 0.03
"""Metres that the cap must come off."""
LOWEST = 0.5
"""Height in m of the closed cap's place below which the bottle has been dropped."""
FAR_RIGHT, FAR_LEFT = 0.5, 0.2
"""Metres from the right hand to the cap, and from the left one to the bottle, at which an episode ends."""
GOAL = (0.0, -0.6, 1.5)
"""Bi-DexHands' goal in m: 1 m above the bottle. Success does not read it."""


class Task(TwoHands):
    """A bottle that leans in the left hand; the right hand is above its cap."""

    places = ((0.0, -1.05, 0.5, 0.5, math.pi, math.pi), (0.0, -0.25, 0.45, 0.0, 1.57 - 0.7, 0.0))
    push = 0.1

    def look(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        self.read_object(env)
        env.bottle_pos, env.bottle_cap_pos = env.object_pos, offset_by(env.object_pose, CAP)
        along = offset_by(env.object_pose, (0.0, 0.0, 1.0)) - env.object_pos
        env.bottle_cap_up = env.object_pos + along * env.qpos[:, -2:-1]
        env.goal_pos = env.object_pos.new_tensor(GOAL).repeat(env.num_envs, 1)
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """The bottle has been dropped, or a hand is away from it, (n,) bool."""
        right: Tensor = torch.linalg.vector_norm(env.bottle_cap_pos - env.right_hand_pos, dim=-1)
        left: Tensor = torch.linalg.vector_norm(env.bottle_pos - env.left_hand_pos, dim=-1)
        return (env.bottle_cap_pos[:, 2] <= LOWEST) | (right >= FAR_RIGHT) | (left >= FAR_LEFT)

    def succeeded(self, env: Worlds) -> Tensor:
        """The cap is off, (n,) bool."""
        apart: Tensor = torch.linalg.vector_norm(env.bottle_cap_up - env.bottle_pos, dim=-1)
        return apart > OFF
