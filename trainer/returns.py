"""How large a candidate's returns are, so that every reward can be learned on one scale of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from trainer.normalizer import RunningNormalizer

VALUE_LIMIT = 5.0
"""Scaled returns do not exceed this."""


class ReturnScale:
    """Running statistics of the discounted returns G <- r + gamma G of K candidates in M worlds (SimbaV2, section
    4.3).
    """

    def __init__(self, candidates: int, worlds: int, gamma: float, device: torch.device | str = "cpu") -> None:
        self._gamma = gamma
        self._returns = torch.zeros(candidates, worlds, device=device)
        self._statistics = RunningNormalizer(candidates, 1, device)
        self._largest = torch.zeros(candidates, 1, device=device)

    @property
    def scale(self) -> Tensor:
        """The factor of rewards, [K, 1]: 1 / max(std(G), max|G| / VALUE_LIMIT)."""
        return torch.maximum(self._statistics.scale, self._largest / VALUE_LIMIT).reciprocal()

    def update(self, rewards: Tensor, ended: Tensor) -> None:
        """Take in the rewards of a horizon (K, T, M) and which episodes ended with them."""
        seen = torch.empty_like(rewards)
        for t in range(rewards.shape[1]):
            self._returns = self._returns * self._gamma + rewards[:, t]
            seen[:, t] = self._returns
            self._returns = self._returns * ~ended[:, t]
        seen = seen.flatten(1)
        self._statistics.update(seen.unsqueeze(-1))
        self._largest = torch.maximum(self._largest, seen.abs().amax(1, keepdim=True))

    def restart(self, groups: Sequence[int]) -> None:
        """Forget the returns of these candidates: their reward is another from now on."""
        self._returns[list(groups)] = 0.0
        self._largest[list(groups)] = 0.0
        self._statistics.restart(groups)

    def keep(self, groups: list[int]) -> None:
        """Go on with these candidates only."""
        self._returns, self._largest = self._returns[groups], self._largest[groups]
        self._statistics.keep(groups)

    def state_dict(self) -> dict[str, Any]:
        """The state for checkpoints."""
        return {
            "returns": self._returns,
            "largest": self._largest,
            "statistics": self._statistics.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state_dict."""
        device = self._largest.device
        self._returns, self._largest = state["returns"].to(device), state["largest"].to(device)
        self._statistics.load_state_dict(state["statistics"])
