"""PlugCharger's hidden half: start, goal, success."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from simulation.robots.tabletop import Tabletop, is_grasped, lay, spread, stand_turned, to_pose
from simulation.rotations import quat_conjugate, quat_mul
from simulation.tasks.plug_charger.observations import compute_observations
from simulation.worlds import Worlds

HALF_HEIGHT, PIN_LENGTH, RECEPTACLE_HEIGHT = 0.012, 0.016, 0.1
NEAR, TURNED = 0.005, 0.2
"""Metres and radians from its goal within which the charger is plugged in."""
SQUARE = 20.0
"""Degrees by which a finger may press aslant."""


class Task(Tabletop):
    """A charger that is plugged in."""

    columns = 6

    def place(self, noise: Tensor) -> Tensor:
        """The charger's free joint, and the receptacle's place and turn (n, 10)."""
        x, y = spread(noise[:, 0], -0.1, -0.01 - PIN_LENGTH), spread(noise[:, 1], -0.2, 0.2)
        charger = lay(x, y, HALF_HEIGHT, spread(noise[:, 2], -math.pi / 3, math.pi / 3))
        x, y = spread(noise[:, 3], 0.01, 0.1), spread(noise[:, 4], -0.1, 0.1)
        yaw = spread(noise[:, 5], math.pi - math.pi / 8, math.pi + math.pi / 8)
        return torch.cat((charger, torch.stack((x, y, yaw), dim=-1)), dim=-1)

    def begin(self, env: Worlds) -> None:
        """Nothing is remembered."""

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        things, _ = self.read(env)
        env.charger_pose, env.receptacle_pose = (
            to_pose(things[:, 0:7]),
            stand_turned(things[:, 7:10], RECEPTACLE_HEIGHT),
        )
        about = torch.tensor([0.0, 0.0, math.pi])
        env.goal_pose = stand_turned(things[:, 7:10] - about, RECEPTACLE_HEIGHT)
        env.charger_pos, env.goal_pos = env.charger_pose[:, 0:3], env.goal_pose[:, 0:3]
        env.obj_to_goal_dist = torch.linalg.vector_norm(env.goal_pos - env.charger_pos, dim=-1)
        apart = quat_mul(quat_conjugate(env.goal_pose[:, 3:7]), env.charger_pose[:, 3:7])
        half = torch.asin(torch.linalg.vector_norm(apart[:, 0:3], dim=-1).double().clamp(max=1.0))
        env.obj_to_goal_angle = 2.0 * half.to(apart.dtype)
        env.is_grasped = is_grasped(env, SQUARE).float()
        compute_observations(env)

    def succeeded(self, env: Worlds) -> Tensor:
        """The charger is where it is when it is plugged in, (n,) bool."""
        return (env.obj_to_goal_dist <= NEAR) & (env.obj_to_goal_angle <= TURNED)
