"""HumanoidJump's hidden half. There is no metric."""

from __future__ import annotations

import torch
from torch import Tensor

from simulation.robots.legged import Humanoid
from simulation.tasks.humanoid_jump.info import INFO
from simulation.tasks.humanoid_jump.observations import compute_observations
from simulation.worlds import Worlds


class Task(Humanoid):
    """Humanoid's body, asked to jump."""

    info = INFO

    def begin(self, env: Worlds) -> None:
        """Where the torso starts."""
        env.torso_position = env.start_qpos[:, 0:3]

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        self.read(env)
        compute_observations(env)

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """None: zeros (n,), and none of them counts."""
        return torch.zeros(env.num_envs), torch.zeros_like(ended)
