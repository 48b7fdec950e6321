"""Cartpole's hidden half: reset, control, termination and metric."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import torch
from torch import Tensor

from simulation.tasks.cartpole.observations import compute_observations
from simulation.worlds import Worlds

RESET_DISTANCE = 3.0
"""Metres from the middle of the rail beyond which an episode ends."""


class Task:
    """Cartpole as IsaacGymEnvs resets, ends and measures it."""

    fields: tuple[str, ...] = ()
    noise_size = 4

    def __init__(self, model: mujoco.MjModel) -> None:
        self.constants: dict[str, Any] = {}

    def start(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Initial qpos and qvel (n, 2) from uniform noise (n, 4): positions within +-0.1, velocities within +-0.25."""
        return 0.2 * (noise[:, :2] - 0.5), 0.5 * (noise[:, 2:] - 0.5)

    def begin(self, env: Worlds) -> None:
        """Nothing is remembered over an episode."""

    def control(self, env: Worlds) -> Tensor:
        """The actuator's controls (n, 1)."""
        return env.actions

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        env.dof_pos, env.dof_vel = env.qpos, env.qvel
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """Cart or pole out of bounds, (n,) bool."""
        return (env.dof_pos[:, 0].abs() > RESET_DISTANCE) | (env.dof_pos[:, 1].abs() > math.pi / 2)

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """Duration of the episodes that ended, in steps (n,), and which those are."""
        return env.progress_buf.to(torch.float32), ended
