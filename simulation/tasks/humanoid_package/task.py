"""HumanoidPackage's hidden half: start, destination, end, success."""

from __future__ import annotations

import torch
from torch import Tensor

from simulation.robots.h1 import H1, JOINTS
from simulation.robots.tabletop import spread, stand_flat
from simulation.tasks.humanoid_package.observations import compute_observations
from simulation.worlds import Worlds

NEAR = 0.1
"""Metres from the package's middle to its destination within which it has arrived."""
HEIGHT = 0.35
"""Metres; of the middle of a package that stands."""
FREE = 0.6
"""Metres around the robot's place in which no package begins."""


class Task(H1):
    """A package and its destination somewhere around the robot."""

    columns = 4
    lowest = 0.5

    def place(self, qpos: Tensor, qvel: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """The package within 2 m along x and y, beside the robot."""
        place = spread(noise[:, 0:2], -2.0, 2.0)
        away = torch.linalg.vector_norm(place, dim=-1, keepdim=True)
        qpos[:, 7 + JOINTS : 9 + JOINTS] = place * (FREE / away.clamp(min=1e-3)).clamp(min=1.0)
        qpos[:, 9 + JOINTS] = HEIGHT
        return qpos, qvel

    def begin(self, env: Worlds) -> None:
        """A destination within 2 m along x and y."""
        super().begin(env)
        x, y = spread(env.noise[:, -2:], -2.0, 2.0).unbind(-1)
        env.package_destination = torch.stack((x, y, torch.full_like(x, HEIGHT)), dim=-1)

    def look(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        package = self.read_thing(env)
        env.package_location, env.package_rotation = package[:, 0:3], package[:, 3:7]
        env.package_velocity, env.package_angular_velocity = package[:, 7:10], package[:, 10:13]
        compute_observations(env)

    def succeeded(self, env: Worlds) -> Tensor:
        """The package is at its destination, (n,) bool."""
        apart: Tensor = torch.linalg.vector_norm(env.package_location - env.package_destination, dim=-1)
        return apart < NEAR

    def mocap(self, env: Worlds) -> Tensor:
        """The destination, (n, 1, 7)."""
        return stand_flat(env.package_destination)
