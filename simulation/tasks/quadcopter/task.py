"""Quadcopter's hidden half: reset, control, termination and metric."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import torch
from torch import Tensor

from simulation import bodies
from simulation.tasks.quadcopter.info import INFO
from simulation.tasks.quadcopter.observations import compute_observations
from simulation.worlds import Worlds

TARGET = (0.0, 0.0, 1.0)
MAX_DISTANCE, MIN_HEIGHT = 3.0, 0.3
"""Metres; an episode ends when the target is farther away, or the chassis lower."""
MAX_THRUST = 2.0
"""N, of one rotor."""
GIMBAL_SPEED, THRUST_SPEED = 8.0 * math.pi, 200.0
"""rad/s and N/s: how fast a full action moves a gimbal's target and a rotor's thrust."""


class Task:
    """Quadcopter as IsaacGymEnvs resets, ends and measures it."""

    fields: tuple[str, ...] = ()
    noise_size = 11

    def __init__(self, model: mujoco.MjModel) -> None:
        self._lower, self._upper = bodies.joint_limits(model)
        self.constants: dict[str, Any] = {}

    def start(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Initial qpos (n, 15) and qvel (n, 14) from uniform noise (n, 11): level, at rest, near the target.

        Within 1.5 m of the target along x and y, from 0.2 m below it to 1.5 m above it, gimbals within 0.2 rad.
        """
        qpos = noise.new_zeros(len(noise), 15)
        qpos[:, 0:2] = 3.0 * (noise[:, 0:2] - 0.5)
        qpos[:, 2] = TARGET[2] - 0.2 + 1.7 * noise[:, 2]
        qpos[:, 3] = 1.0
        qpos[:, 7:] = 0.4 * (noise[:, 3:] - 0.5)
        return qpos, noise.new_zeros(len(noise), 14)

    def begin(self, env: Worlds) -> None:
        """The gimbals' targets, where they are, and the rotors, off."""
        env.gimbal_targets = env.start_qpos[:, 7:]
        env.thrusts = env.start_qpos.new_zeros(env.num_envs, 4)

    def control(self, env: Worlds) -> Tensor:
        """Gimbal targets in rad (n, 8) and thrusts in N (n, 4), moved by the actions."""
        turned = env.gimbal_targets + GIMBAL_SPEED * INFO.control_dt * env.actions[:, 0:8]
        env.gimbal_targets = turned.clamp(self._lower, self._upper)
        env.thrusts = (env.thrusts + THRUST_SPEED * INFO.control_dt * env.actions[:, 8:12]).clamp(0.0, MAX_THRUST)
        return torch.cat((env.gimbal_targets, env.thrusts), dim=-1)

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        root = bodies.root_states(env.qpos, env.qvel)
        env.root_positions, env.root_quats = root[:, 0:3], root[:, 3:7]
        env.root_linvels, env.root_angvels = root[:, 7:10], root[:, 10:13]
        env.dof_positions, env.dof_velocities = env.qpos[:, 7:], env.qvel[:, 6:]
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """It flew away or came down, (n,) bool."""
        return (self._distance(env) > MAX_DISTANCE) | (env.root_positions[:, 2] < MIN_HEIGHT)

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """Minus the distance to the target in m (n,), where an episode ended."""
        return -self._distance(env), ended

    def _distance(self, env: Worlds) -> Tensor:
        target = torch.tensor(TARGET, device=env.root_positions.device)
        distance: Tensor = torch.linalg.vector_norm(env.root_positions - target, dim=-1)
        return distance
