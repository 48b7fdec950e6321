"""Resume state and final policies on disk: replaced atomically, loadable without running code from the file."""

from __future__ import annotations

import io
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from trainer.networks import NetworkShape, StackedActorCritic
from trainer.normalizer import RunningNormalizer
from trainer.ppo import PPO


def save(path: Path, state: dict[str, Any]) -> None:
    """Write a state of tensors and plain values; a reader sees the old file or the new one, never half of one."""
    content = io.BytesIO()
    torch.save(state, content)
    temporary = path.with_suffix(".tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content.getbuffer())
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    os.replace(temporary, path)


def load(path: Path) -> dict[str, Any] | None:
    """The saved state, or None when there is none."""
    if not path.exists():
        return None
    state: dict[str, Any] = torch.load(path, weights_only=True, map_location="cpu")
    return state


def save_policy(path: Path, ppo: PPO, group: int, *, task: str, preset: str, seed: int) -> None:
    """Write one candidate's policy with everything needed to run it again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shape = asdict(ppo.networks.shape)
    save(
        path,
        {
            "task": task,
            "preset": preset,
            "seed": seed,
            "shape": {**shape, "hidden": list(shape["hidden"])},
            "parameters": ppo.networks.flat[group].clone(),
            "observation_mean": ppo.observations.mean[group].clone(),
            "observation_variance": ppo.observations.variance[group].clone(),
        },
    )


@dataclass(frozen=True)
class Policy:
    """A trained policy, ready to act."""

    task: str
    networks: StackedActorCritic
    observations: RunningNormalizer

    @torch.no_grad()
    def __call__(self, observations: Tensor) -> Tensor:
        """Mean actions (n, num_actions) for observations (n, num_obs) of the task's environment."""
        return self.networks.mean(self.observations.normalize(observations.unsqueeze(0))).squeeze(0)


def load_policy(path: Path) -> Policy:
    """The policy in `path`. Raises FileNotFoundError when there is none."""
    saved = torch.load(path, weights_only=True, map_location="cpu")
    shape = NetworkShape(**{**saved["shape"], "hidden": tuple(saved["shape"]["hidden"])})
    observations = RunningNormalizer(1, shape.num_obs)
    mean, variance = saved["observation_mean"].unsqueeze(0), saved["observation_variance"].unsqueeze(0)
    observations.load_state_dict({"mean": mean, "variance": variance, "count": 0})
    return Policy(saved["task"], StackedActorCritic(shape, saved["parameters"].unsqueeze(0)), observations)
