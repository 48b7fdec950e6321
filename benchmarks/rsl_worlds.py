"""Our batched worlds in rsl_rl's interface, with the task's reference reward."""

from __future__ import annotations

from typing import Any

import torch
from rsl_rl.env import VecEnv as RslVecEnv
from tensordict import TensorDict

from benchmarks.adapters import Worlds
from simulation import catalog


class RslWorlds(RslVecEnv):
    """For rsl_rl."""

    def __init__(self, task: str, worlds: int, reward_scale: float) -> None:
        info = catalog.get_task(task)
        self._worlds = Worlds(task, worlds, reward_scale)
        self.num_envs, self.num_actions = worlds, info.num_actions
        self.max_episode_length = info.episode_steps
        self.episode_length_buf = torch.zeros(worlds, dtype=torch.long)
        self.device = "cpu"
        self.cfg: dict[str, Any] = {}

    def get_observations(self) -> TensorDict:
        """Current observations."""
        return TensorDict({"policy": self._worlds.env.obs_buf}, batch_size=[self.num_envs])

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict]:
        """One control step."""
        rewards, done, truncated, _ = self._worlds.step(actions)
        return self.get_observations(), rewards, done.long(), {"time_outs": truncated}
