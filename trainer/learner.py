"""The interface of a learning algorithm: K candidates in lockstep, whose rows never mix unless they share their
experience.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from simulation.catalog import AnyPreset, SacPreset, TaskInfo
from simulation.noise import SharedNoise
from trainer.experience import Experience, RewardsOf
from trainer.networks import NetworkShape
from trainer.normalizer import RunningNormalizer
from trainer.ppo import PPO
from trainer.sac import SAC


class Learner(Protocol):
    """K policies that learn, of PPO or SAC. M: worlds of one candidate."""

    observations: RunningNormalizer

    @property
    def device(self) -> torch.device:
        """Where its tensors are."""

    def act(self, observations: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Exploring actions and mean actions (K, M, num_actions) for observations (K, M, num_obs) of the environment
        and standard normal noise (K or 1, M, num_actions).
        """

    def mean_actions(self, observations: Tensor) -> Tensor:
        """The policies' mean actions (K, M, num_actions) for observations (K, M, num_obs) of the environment."""

    def update(self, experience: Experience, noise: SharedNoise) -> None:
        """Improve all K policies after one horizon of experience."""

    def start_from(self, networks: object, observations: RunningNormalizer) -> None:
        """Begin with this policy for all K in place of random ones. Raises ValueError where it does not fit."""

    def change_reward(self, groups: Sequence[int], rewards: RewardsOf, seeds: Sequence[int] | None = None) -> None:
        """Go on with another reward for these candidates: experience that is kept gets it. With `seeds`, of new
        weights, what has learned values of the old one begins again.
        """

    def find_finite(self) -> Tensor:
        """[K] bool: whether everything that each candidate has learned is finite."""

    def keep(self, groups: list[int]) -> None:
        """Go on with these candidates only."""

    def policy_state(self, group: int) -> dict[str, Any]:
        """One candidate's policy, as checkpoint.load_policy reads it."""

    def state_dict(self) -> dict[str, Any]:
        """Everything that a continuation needs: tensors and plain values."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state_dict, on this learner's device."""


def has_mixed_precision(device: torch.device = torch.device("cpu")) -> bool:  # noqa: B008  (immutable)
    """Whether this device multiplies bfloat16 in hardware; elsewhere it would be emulated, and slower than float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def make_learner(
    info: TaskInfo,
    preset: AnyPreset,
    seeds: Sequence[int],
    mixed_precision: bool,
    device: torch.device,
    shared_experience: bool = False,
) -> Learner:
    """Learners for this task by the preset's algorithm, one for each of these seeds. `shared_experience`: of SAC alone
    (`records.resolve_preset` refuses it elsewhere).
    """
    if isinstance(preset, SacPreset):
        return SAC(info.num_obs, info.num_actions, preset, seeds, mixed_precision, device, shared_experience)
    shape = NetworkShape(info.num_obs, info.num_actions, preset.hidden, preset.activation)
    return PPO(shape, preset, seeds, mixed_precision, device)
