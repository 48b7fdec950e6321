"""Our batched worlds in the interfaces of other libraries, with the task's reference reward."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3.common.vec_env import VecEnv as Sb3VecEnv

from simulation import catalog
from simulation.environment import Environment
from simulation.rewards.contract import compile_reward


class Worlds:
    """Worlds that reset themselves, as these libraries expect."""

    def __init__(self, task: str, worlds: int, reward_scale: float) -> None:
        self.env = Environment(task, worlds=worlds)
        self.env.reset()
        self._reward = compile_reward(catalog.read_reference_reward(task), task)
        self._scale = reward_scale

    def step(self, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Rewards, done, truncated (worlds,), and the observations before the reset (worlds, num_obs)."""
        step = self.env.step(actions)
        rewards = self._reward(self.env.inputs(0))[0] * self._scale
        final, done = self.env.obs_buf, step.terminated | step.truncated
        if done.any():
            self.env.reset(done)
        return rewards, done, step.truncated, final


class Sb3Worlds(Sb3VecEnv):
    """For Stable-Baselines3."""

    render_mode = None

    def __init__(self, task: str, worlds: int, reward_scale: float) -> None:
        info = catalog.get_task(task)
        self._worlds = Worlds(task, worlds, reward_scale)
        observations = gymnasium.spaces.Box(-np.inf, np.inf, (info.num_obs,), np.float32)
        super().__init__(worlds, observations, gymnasium.spaces.Box(-1.0, 1.0, (info.num_actions,), np.float32))

    def reset(self) -> np.ndarray:
        """Begin new episodes."""
        self._worlds.env.reset()
        return self._worlds.env.obs_buf.numpy()

    def step_async(self, actions: np.ndarray) -> None:
        """Remember the actions."""
        self._actions = torch.from_numpy(np.ascontiguousarray(actions))

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict]]:
        """One control step."""
        rewards, done, truncated, final = self._worlds.step(self._actions)
        infos: list[dict] = [{} for _ in range(self.num_envs)]
        for world in done.nonzero().flatten().tolist():
            timed_out = bool(truncated[world])
            infos[world] = {"terminal_observation": final[world].numpy(), "TimeLimit.truncated": timed_out}
        return self._worlds.env.obs_buf.numpy(), rewards.numpy(), done.numpy(), infos

    def close(self) -> None:
        """Nothing to close."""

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """No world is wrapped."""
        return [False] * self.num_envs

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return the same attribute for every world."""
        return [getattr(self, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute."""
        setattr(self, attr_name, value)

    def env_method(self, method_name: str, *arguments: Any, indices: Any = None, **named: Any) -> list[Any]:
        """Call a method."""
        return [getattr(self, method_name)(*arguments, **named)] * self.num_envs
