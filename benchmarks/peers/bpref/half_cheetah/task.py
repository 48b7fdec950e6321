"""HalfCheetah's hidden half: as gymnasium's HalfCheetah-v5 starts, is driven, ends and is rewarded."""

from __future__ import annotations

from typing import Any

import mujoco
import torch
from simulation.tasks.half_cheetah.observations import compute_observations
from torch import Tensor

from simulation.worlds import Worlds

NOISE = 0.1
"""m, rad: half the width of the first positions' distribution; m/s, rad/s: the deviation of the first velocities."""
STEP_SECONDS = 0.05


class Task:
    """One world of HalfCheetah-v5; nothing but its last step ends an episode."""

    fields: tuple[str, ...] = ()
    noise_size = 18

    def __init__(self, model: mujoco.MjModel) -> None:
        self.constants: dict[str, Any] = {}

    def start(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Initial qpos and qvel (n, 9) from uniform noise (n, 18)."""
        uniform = 2 * noise - 1
        normal = 2**0.5 * torch.erfinv(uniform[:, 9:].clamp(-0.999999, 0.999999))
        return NOISE * uniform[:, :9], NOISE * normal

    def begin(self, env: Worlds) -> None:
        """Where the first step begins."""
        env.forward_before = env.start_qpos[:, 0]

    def control(self, env: Worlds) -> Tensor:
        """The actuators' controls (n, 6)."""
        env.forward_before = env.qpos[:, 0]
        return env.actions

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        env.dof_pos, env.dof_vel = env.qpos, env.qvel
        env.forward_velocity = (env.qpos[:, 0] - env.forward_before) / STEP_SECONDS
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """Never, (n,) bool."""
        return torch.zeros_like(env.forward_velocity, dtype=torch.bool)

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """Gymnasium's reward of this step (n,), which counts in every step."""
        return env.forward_velocity - 0.1 * env.actions.square().sum(1), torch.ones_like(ended)
