"""Resume state and final policies on disk: replaced atomically, loadable without running code from the file."""

from __future__ import annotations

import io
import os
import pickle
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from simulation import catalog
from trainer.networks import ACTIVATIONS, NetworkShape, StackedActorCritic
from trainer.normalizer import RunningNormalizer
from trainer.sac import ATOMS, SimbaPolicy
from trainer.simba import SimbaShape

UNREADABLE = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, ImportError, LookupError, RuntimeError, TypeError),
    *(ValueError, pickle.UnpicklingError, struct.error),
)
"""Errors of reading a damaged file as a pickle."""
VERSION = 1
"""Version of the files' contents; files without one are of version 1."""


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
    except UNREADABLE as error:
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
    networks: StackedActorCritic | SimbaPolicy
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
    if not {"task", "shape", "parameters", "observation_mean", "observation_variance"} <= saved.keys():
        raise ValueError(f"{path} is not a policy: give a checkpoints/policies/<candidate>.pt of a run")
    try:
        trained_on, shape = saved["task"], _read_description(saved, "shape")
        sizes = (shape["num_obs"], shape["num_actions"])
        if not _are_sizes(*sizes) or not isinstance(trained_on, str):
            raise TypeError("a policy is of a task, with numbers of observations and actions")
        if task not in (None, trained_on):
            raise ValueError(f"{path} is a policy for {trained_on}, not for {task}")
        _require_fit(path, trained_on, *sizes)
        kind = saved.get("algorithm", "ppo")
        if kind not in READERS:
            raise ValueError(f"{path} was trained by {kind!r}, an algorithm that this version has not")
        networks = READERS[kind](saved)
        mean, variance = (_read_row(saved[f"observation_{name}"], sizes[0]) for name in ("mean", "variance"))
        if networks is None or mean is None or variance is None or bool((variance < 0).any()):
            raise ValueError(f"{path} is damaged: its parameters do not fill its networks, or are not finite")
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is damaged: what it says of its networks cannot be read") from error
    observations = RunningNormalizer(1, sizes[0])
    observations.load_state_dict({"mean": mean, "variance": variance, "count": 0})
    return Policy(trained_on, networks, observations)


def _build_ppo_networks(saved: dict[str, Any]) -> StackedActorCritic | None:
    described = saved["shape"]
    shape = NetworkShape(**{**described, "hidden": tuple(described["hidden"])})
    if not _are_sizes(*shape.hidden) or shape.activation not in ACTIVATIONS:
        return None
    flat = _read_row(saved["parameters"], shape.parameters)
    return None if flat is None else StackedActorCritic(shape, flat)


def _build_sac_networks(saved: dict[str, Any]) -> SimbaPolicy | None:
    described, critic = saved["shape"], _read_description(saved, "critic")
    num_obs, num_actions = described["num_obs"], described["num_actions"]
    if not _are_sizes(described["width"], described["blocks"], critic["width"], critic["blocks"]):
        return None
    actor_shape = SimbaShape(num_obs, (num_actions, num_actions), described["width"], described["blocks"])
    critic_shape = SimbaShape(num_obs + num_actions, (ATOMS,), critic["width"], critic["blocks"])
    flat = _read_row(saved["parameters"], actor_shape.parameters)
    critics = [_read_row(row, critic_shape.parameters) for row in saved["critics"]]
    temperature = _read_row(saved["log_temperature"], 1)
    if flat is None or temperature is None or len(critics) != 2:
        return None
    rows = [row for row in critics if row is not None]
    return SimbaPolicy(actor_shape, flat, torch.cat(rows), temperature) if len(rows) == 2 else None


READERS: dict[str, Callable[[dict[str, Any]], StackedActorCritic | SimbaPolicy | None]] = {
    "ppo": _build_ppo_networks,
    "sac": _build_sac_networks,
}
"""By algorithm: the networks that a policy file describes; None where its numbers do not fit."""


def _read_description(saved: dict[str, Any], key: str) -> dict[str, Any]:
    if not isinstance(saved[key], dict):
        raise TypeError(f"{key} is no description")
    description: dict[str, Any] = saved[key]
    return description


def _are_sizes(*values: object) -> bool:
    """Whether these are numbers of units or blocks."""
    return all(type(value) is int and 0 < value < 1 << 20 for value in values)


def _read_row(values: object, length: int) -> Tensor | None:
    """A saved vector as a row (1, length); None unless it holds `length` finite numbers."""
    if not isinstance(values, Tensor) or values.shape != (length,) or not values.is_floating_point():
        return None
    return values.float().unsqueeze(0) if values.isfinite().all() else None


def _require_fit(path: Path, task: str, num_obs: int, num_actions: int) -> None:
    """Check that this version has the task, with the policy's numbers of observations and actions."""
    if task not in catalog.list_tasks():
        raise ValueError(f"{path} was trained on {task}, a task that this version has not")
    info = catalog.get_task(task)
    if (num_obs, num_actions) != (info.num_obs, info.num_actions):
        raise ValueError(
            f"{path} was trained on another version of {task}, with {num_obs} observations and "
            f"{num_actions} actions; here it has {info.num_obs} and {info.num_actions}: train it again"
        )
