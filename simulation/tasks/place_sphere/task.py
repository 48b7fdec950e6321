"""PlaceSphere's hidden half: start, success."""

from __future__ import annotations

import torch
from torch import Tensor

from simulation.robots.tabletop import Tabletop, is_at_rest, is_grasped, lay, spread, to_pose
from simulation.tasks.place_sphere.observations import compute_observations
from simulation.worlds import Worlds

RADIUS = 0.02
BOTTOM = 0.0025
"""Half the thickness of the bin's bottom in m."""
NEAR = 0.005
"""Metres by which the ball may be beside, above or below its place in the bin."""


class Task(Tabletop):
    """A ball that lies in a bin and is not held."""

    columns = 4

    def place(self, noise: Tensor) -> Tensor:
        """The ball's free joint and the bin's two slides (n, 9): the ball on the robot's side."""
        ball = lay(spread(noise[:, 0], -0.1, -0.05), spread(noise[:, 1], -0.1, 0.1), RADIUS)
        place = torch.stack((spread(noise[:, 2], 0.0, 0.1), spread(noise[:, 3], -0.1, 0.1)), dim=-1)
        return torch.cat((ball, place), dim=-1)

    def begin(self, env: Worlds) -> None:
        """Nothing is remembered."""

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        things, velocities = self.read(env)
        env.obj_pose = to_pose(things[:, 0:7])
        env.obj_pos, env.obj_linvel, env.obj_angvel = env.obj_pose[:, 0:3], velocities[:, 0:3], velocities[:, 3:6]
        env.bin_pos = torch.cat((things[:, 7:9], torch.full((env.num_envs, 1), BOTTOM)), dim=-1)
        env.is_grasped = is_grasped(env).float()
        compute_observations(env)

    def succeeded(self, env: Worlds) -> Tensor:
        """The ball lies in the bin at rest and is not grasped, (n,) bool."""
        offset = env.obj_pos - env.bin_pos
        beside: Tensor = torch.linalg.vector_norm(offset[:, :2], dim=-1)
        inside = (beside <= NEAR) & ((offset[:, 2] - RADIUS - BOTTOM).abs() <= NEAR)
        return inside & is_at_rest(env.obj_linvel, env.obj_angvel) & (env.is_grasped < 0.5)
