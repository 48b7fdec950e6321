"""Resume state and final policies on disk: replaced atomically, loadable without running code from the file."""

from __future__ import annotations

import io
import os
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from simulation import catalog
from trainer.networks import NetworkShape, StackedActorCritic
from trainer.normalizer import RunningNormalizer

VERSION = 1
"""Of what these files hold; files without one are of the first."""


def save(path: Path, state: dict[str, Any]) -> None:
    """Write a state of tensors and plain values; a reader sees the old file or the new one, never half of one."""
    content = io.BytesIO()
    torch.save(state | {"version": VERSION}, content)
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
    """The saved state, on the CPU, or None when there is none. Raises ValueError when it cannot be read here."""
    return _read(path) if path.exists() else None


def _read(path: Path) -> dict[str, Any]:
    try:
        state = torch.load(path, weights_only=True, map_location="cpu")
    except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
        raise ValueError(f"{path} is no checkpoint of this program, or a damaged one") from error
    if not isinstance(state, dict):
        raise ValueError(f"{path} is no checkpoint of this program")
    version = state.pop("version", 1)
    if version != VERSION:
        raise ValueError(
            f"{path} is a checkpoint of version {version}, this program reads version {VERSION}: use the release of "
            f"Prefine that wrote it"
        )
    return state


def save_policy(path: Path, state: dict[str, Any], *, task: str, preset: str, seed: int) -> None:
    """Write one candidate's policy (Learner.policy_state) with everything needed to run it again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    save(path, {"task": task, "preset": preset, "seed": seed, **state})


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


def load_policy(path: Path, task: str | None = None) -> Policy:
    """The policy in `path`, read without running code from it.

    Raises FileNotFoundError when there is none, and ValueError, saying what is wrong, where the file is damaged, is no
    policy, is of another version, of another task than `task`, or of one that this version has not, or has with other
    observations or actions.
    """
    saved = _read(path)
    try:
        trained_on, parameters = saved["task"], saved["parameters"]
        shape = NetworkShape(**{**saved["shape"], "hidden": tuple(saved["shape"]["hidden"])})
        statistics = {"mean": saved["observation_mean"], "variance": saved["observation_variance"]}
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a policy: give a checkpoints/policies/<candidate>.pt of a run") from error
    if task not in (None, trained_on):
        raise ValueError(f"{path} is a policy for {trained_on}, not for {task}")
    _require_fit(path, trained_on, shape)
    sizes = (parameters.shape, *(values.shape for values in statistics.values()))
    if sizes != ((shape.parameters,), (shape.num_obs,), (shape.num_obs,)) or not parameters.isfinite().all():
        raise ValueError(f"{path} is damaged: its parameters do not fill its networks, or are not finite")
    observations = RunningNormalizer(1, shape.num_obs)
    observations.load_state_dict({name: values.unsqueeze(0) for name, values in statistics.items()} | {"count": 0})
    return Policy(trained_on, StackedActorCritic(shape, parameters.unsqueeze(0)), observations)


def _require_fit(path: Path, task: str, shape: NetworkShape) -> None:
    """That this version has the task, with as many observations and actions as the policy was trained on."""
    if task not in catalog.tasks():
        raise ValueError(f"{path} was trained on {task}, a task that this version has not")
    info = catalog.task(task)
    if (shape.num_obs, shape.num_actions) != (info.num_obs, info.num_actions):
        raise ValueError(
            f"{path} was trained on another version of {task}, with {shape.num_obs} observations and "
            f"{shape.num_actions} actions; here it has {info.num_obs} and {info.num_actions}: train it anew"
        )
