"""BallBalance's hidden half: reset, control, termination and metric."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import torch
from torch import Tensor

from simulation.tasks.ball_balance.info import INFO
from simulation.tasks.ball_balance.observations import compute_observations
from simulation.worlds import Worlds

LEGS = slice(7, 13)
"""The six hinges in qpos, between the tray's seven coordinates and the ball's."""
BALL = slice(13, 16)
BALL_RADIUS = 0.1
TARGET_SPEED = 20.0
"""rad/s: how fast a full action moves a knee's position target."""
TARGET_RANGE = (-0.4, 0.4)
"""rad: knees reach farther, but a nearly straight or folded leg hardly moves the tray, and a tray that drops below a
hopping ball does not catch it."""
DISTANCES = (0.001, 0.4)
"""Metres from the tray's centre at which the ball begins."""
HEIGHTS = (1.0, 2.0)
MAX_SPEED_INWARD, SPEED_DOWN = 2.0, 5.0
"""m/s: a ball over the edge may fly towards the centre this fast; every ball falls this fast at its start."""


class Task:
    """BallBalance as IsaacGymEnvs resets, ends and measures it."""

    fields = ("sensordata",)
    noise_size = 4

    def __init__(self, model: mujoco.MjModel) -> None:
        self._qpos0 = torch.from_numpy(model.qpos0).float()
        self.constants: dict[str, Any] = {}

    def start(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Initial qpos (n, 20) and qvel (n, 18) from uniform noise (n, 4): distance, direction, height, speed inward.

        The table is level; the ball falls towards it, and the farther out the faster towards the middle.
        """
        share = noise[:, 0]
        distance = DISTANCES[0] + (DISTANCES[1] - DISTANCES[0]) * share
        angle = 2.0 * math.pi * noise[:, 1]
        outward = torch.stack((torch.cos(angle), torch.sin(angle)), dim=-1)
        qpos = self._qpos0.repeat(len(noise), 1)
        qpos[:, 13:15] = distance.unsqueeze(1) * outward
        qpos[:, 15] = HEIGHTS[0] + (HEIGHTS[1] - HEIGHTS[0]) * noise[:, 2]
        qvel = noise.new_zeros(len(noise), 18)
        qvel[:, 12:14] = -(MAX_SPEED_INWARD * share * noise[:, 3]).unsqueeze(1) * outward
        qvel[:, 14] = -SPEED_DOWN
        return qpos, qvel

    def begin(self, env: Worlds) -> None:
        """The knees' position targets, at rest."""
        env.knee_targets = env.start_qpos.new_zeros(env.num_envs, 3)

    def control(self, env: Worlds) -> Tensor:
        """Position targets of the knees (n, 3) in rad, moved by the actions."""
        moved = env.knee_targets + TARGET_SPEED * INFO.control_dt * env.actions
        targets: Tensor = moved.clamp(*TARGET_RANGE)
        env.knee_targets = targets
        return targets

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        env.tray_positions = env.qpos[:, 0:3]
        env.dof_positions, env.dof_velocities = env.qpos[:, LEGS], env.qvel[:, 6:12]
        env.ball_positions, env.ball_linvels = env.qpos[:, BALL], env.qvel[:, 12:15]
        wrenches = env.sensordata.view(-1, 2, 3, 3)
        env.sensor_forces, env.sensor_torques = wrenches[:, 0], wrenches[:, 1]
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """The ball has fallen to the ground, (n,) bool."""
        return env.ball_positions[:, 2] < 1.5 * BALL_RADIUS

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """Duration of the episodes that ended, in steps (n,), and which those are."""
        return env.progress_buf.to(torch.float32), ended
