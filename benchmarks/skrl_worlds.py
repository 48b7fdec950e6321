"""skrl's PPO on our batched worlds, with the task's quick preset."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import gymnasium
import torch
from skrl.agents.torch.ppo import PPO
from skrl.envs.wrappers.torch import Wrapper
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from skrl.resources.preprocessors.torch import RunningStandardScaler
from skrl.resources.schedulers.torch import KLAdaptiveLR
from skrl.trainers.torch import StepTrainer
from torch import nn

from benchmarks.adapters import Worlds
from simulation import catalog
from simulation.catalog import Preset

ACTIVATIONS = {"silu": nn.SiLU, "elu": nn.ELU}


class SkrlWorlds(Wrapper):
    """The worlds in skrl's interface; with several worlds skrl itself resets nothing."""

    def __init__(self, task: str, worlds: int, reward_scale: float) -> None:
        info = catalog.get_task(task)
        observations, actions = (gymnasium.spaces.Box(-1.0, 1.0, (size,)) for size in (info.num_obs, info.num_actions))
        about = {"device": "cpu", "num_envs": worlds, "observation_space": observations, "action_space": actions}
        super().__init__(SimpleNamespace(**about))
        self._worlds = Worlds(task, worlds, reward_scale)

    def reset(self) -> tuple[torch.Tensor, dict[str, Any]]:
        """Current observations."""
        return self._worlds.env.obs_buf, {}

    def step(self, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, Any]:
        """One control step."""
        rewards, done, truncated, _ = self._worlds.step(actions)
        rewards, ended, truncated = (one.unsqueeze(1) for one in (rewards, done & ~truncated, truncated))
        return self._worlds.env.obs_buf, rewards, ended, truncated, {}

    def state(self) -> None:
        """Return the observations."""

    def render(self, *_: Any, **__: Any) -> None:
        """Nothing to see."""

    def close(self) -> None:
        """Nothing to close."""


def perceptron(inputs: int, outputs: int, preset: Preset) -> nn.Sequential:
    """The preset's network."""
    sizes = (inputs, *preset.hidden)
    layers: list[nn.Module] = []
    for i, o in zip(sizes[:-1], sizes[1:], strict=True):
        layers += [nn.Linear(i, o), ACTIVATIONS[preset.activation]()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], outputs))


class Policy(GaussianMixin, Model):
    """Mean actions, and a log standard deviation for each."""

    def __init__(self, env: SkrlWorlds, preset: Preset) -> None:
        Model.__init__(self, observation_space=env.observation_space, action_space=env.action_space, device="cpu")
        GaussianMixin.__init__(self)
        actions = env.action_space.shape[0]
        self.net = perceptron(env.observation_space.shape[0], actions, preset)
        self.log_std = nn.Parameter(torch.full((actions,), preset.initial_std).log())

    def compute(self, inputs: dict[str, Any], role: str = "") -> tuple[torch.Tensor, dict[str, Any]]:
        """The library's interface."""
        return self.net(inputs["observations"]), {"log_std": self.log_std}


class Value(DeterministicMixin, Model):
    """One value."""

    def __init__(self, env: SkrlWorlds, preset: Preset) -> None:
        Model.__init__(self, observation_space=env.observation_space, action_space=env.action_space, device="cpu")
        DeterministicMixin.__init__(self)
        self.net = perceptron(env.observation_space.shape[0], 1, preset)

    def compute(self, inputs: dict[str, Any], role: str = "") -> tuple[torch.Tensor, dict[str, Any]]:
        """The network's outputs, in the form that the library asks for."""
        return self.net(inputs["observations"]), {}


def train(task: str, mixed: bool) -> Iterator[None]:
    """An iteration of collecting and learning per step of the generator."""
    preset = catalog.get_preset(task, "quick")
    assert isinstance(preset, Preset)
    env = SkrlWorlds(task, preset.worlds, preset.reward_scale)
    spaces = {"observation_space": env.observation_space, "action_space": env.action_space, "device": "cpu"}
    cfg = {
        "rollouts": preset.horizon,
        "learning_epochs": preset.epochs,
        "mini_batches": preset.minibatches,
        "discount_factor": preset.gamma,
        "gae_lambda": preset.gae_lambda,
        "learning_rate": preset.learning_rate,
        "learning_rate_scheduler": KLAdaptiveLR,
        "learning_rate_scheduler_kwargs": {"kl_threshold": preset.kl_target},
        "observation_preprocessor": RunningStandardScaler,
        "observation_preprocessor_kwargs": {"size": env.observation_space, "device": "cpu"},
        "value_preprocessor": RunningStandardScaler,
        "value_preprocessor_kwargs": {"size": 1, "device": "cpu"},
        "ratio_clip": preset.clip,
        "value_clip": preset.clip,
        "entropy_loss_scale": preset.entropy_weight,
        "mixed_precision": mixed,
        "experiment": {"directory": tempfile.gettempdir(), "write_interval": 0, "checkpoint_interval": 0},
    }
    models = {"policy": Policy(env, preset), "value": Value(env, preset)}
    memory = RandomMemory(memory_size=preset.horizon, num_envs=preset.worlds, device="cpu")
    agent = PPO(models=models, memory=memory, cfg=cfg, **spaces)
    trainer = StepTrainer(
        env=env, agents=agent, cfg={"timesteps": 10**9, "headless": True, "disable_progressbar": True}
    )
    while True:
        for _ in range(preset.horizon):
            trainer.train()
        yield
