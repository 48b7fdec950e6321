"""Over's hidden half: start, goal, end, success. CatchUnderarm and CatchAbreast build on it."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from simulation.robots.cube_in_hand import random_rotation
from simulation.robots.two_hands import TwoHands
from simulation.tasks.over.observations import compute_observations
from simulation.worlds import Worlds

NEAR = 0.03
"""Metres from the goal within which the egg has arrived."""


class Task(TwoHands):
    """An egg that begins above the right hand and should come to the left one."""

    columns = 7
    """Place of the egg 0:3, its rotation 3:5, the goal's rotation 5:7."""
    loose = 0.2
    scatter: ClassVar[float] = 0.01
    """Metres by which the egg may begin beside its place, along each axis."""
    way: ClassVar[float] = 0.25
    """Metres from the egg's place to the goal, along -y."""
    floor: ClassVar[float] = 0.2
    """Height in m of an egg that has been dropped."""

    def place(self, noise: Tensor) -> Tensor:
        """The egg's free joint (n, 7): turned at random about x and y."""
        at = self._things[:3] + self.scatter * (2.0 * noise[:, :3] - 1.0)
        return torch.cat((at, torch.roll(random_rotation(noise[:, 3:5]), 1, dims=-1)), dim=-1)  # MuJoCo's wxyz

    def begin(self, env: Worlds) -> None:
        """A goal above the left hand, turned at random."""
        super().begin(env)
        env.goal_pos = self._things[:3].repeat(env.num_envs, 1)
        env.goal_pos[:, 1] -= self.way
        env.goal_rot = random_rotation(env.noise[:, -2:])

    def look(self, env: Worlds) -> None:
        """The egg, its goal, and observations of the state reached."""
        self.look_at_egg(env)
        compute_observations(env)

    def look_at_egg(self, env: Worlds) -> None:
        """Set the variables of the egg and its goal."""
        self.read_object(env)
        env.goal_pose = torch.cat((env.goal_pos, env.goal_rot), dim=-1)

    def terminated(self, env: Worlds) -> Tensor:
        """The egg has been dropped, (n,) bool."""
        return env.object_pos[:, 2] <= self.floor

    def succeeded(self, env: Worlds) -> Tensor:
        """The egg is at its goal, (n,) bool."""
        apart: Tensor = torch.linalg.vector_norm(env.goal_pos - env.object_pos, dim=-1)
        return apart < NEAR

    def mocap(self, env: Worlds) -> Tensor:
        """The goal, (n, 1, 7)."""
        return env.goal_pose.unsqueeze(1)
