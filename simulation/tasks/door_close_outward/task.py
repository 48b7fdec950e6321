"""DoorCloseOutward's hidden half: start, end, success."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from simulation.robots.two_hands import TwoHands, sum_gaps
from simulation.tasks.door_close_outward.observations import compute_observations
from simulation.worlds import Worlds

OPEN = 1.57
"""Radians by which both wings begin open."""
DOOR = (0.0, 0.0, 0.7)
"""The door's place in m; it does not turn."""
CLOSED = 0.5
"""Metres from handle to handle, across the doorway, below which the door counts as closed."""
FAR = 3.0
"""Metres, summed over a hand's five fingers, from its handle at which an episode ends."""
GOAL = (0.0, 0.0, 10.7)
"""Bi-DexHands' goal in m: 10 m above the door. Nothing reaches it, and success does not read it."""


class Task(TwoHands):
    """A double door that is open away from the hands."""

    places = ((0.55, 0.2, 0.6, math.pi, 1.57, 1.57), (0.55, -0.2, 0.6, math.pi, -1.57, 1.57))
    turn = 0.5

    def place(self, noise: Tensor) -> Tensor:
        """Both wings are open (n, 2)."""
        return torch.full((len(noise), 2), OPEN)

    def look(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        env.object_pos = env.right_hand_pos.new_tensor(DOOR).repeat(env.num_envs, 1)
        env.object_rot = env.right_hand_pos.new_tensor((0.0, 0.0, 0.0, 1.0)).repeat(env.num_envs, 1)
        env.object_pose = torch.cat((env.object_pos, env.object_rot), dim=-1)
        env.object_linvel, env.object_angvel = torch.zeros(env.num_envs, 3), torch.zeros(env.num_envs, 3)
        env.door_right_handle_pos = env.sensordata[:, 0:3]
        env.door_left_handle_pos = env.sensordata[:, 3:6]
        env.goal_pos = env.right_hand_pos.new_tensor(GOAL).repeat(env.num_envs, 1)
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """A hand is far from its handle, (n,) bool."""
        right = sum_gaps(env, "right", env.door_right_handle_pos)
        left = sum_gaps(env, "left", env.door_left_handle_pos)
        return (right >= FAR) | (left >= FAR)

    def succeeded(self, env: Worlds) -> Tensor:
        """The handles are close to each other, (n,) bool."""
        return (env.door_right_handle_pos[:, 1] - env.door_left_handle_pos[:, 1]).abs() < CLOSED
