"""Running mean and variance per candidate, for observations and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

EPSILON = 1e-5
LIMIT = 10.0
"""Normalised observations are clipped to this many standard deviations."""


class RunningNormalizer:
    """Mean and population variance [K, features] of everything seen so far by each of K candidates."""

    def __init__(self, candidates: int, features: int, device: torch.device | str = "cpu") -> None:
        self.counts = torch.zeros(candidates, 1, dtype=torch.float64, device=device)
        """[K, 1] how many rows each candidate's statistics are of."""
        self._set(torch.zeros(candidates, features, device=device), torch.ones(candidates, features, device=device))

    def update(self, batch: Tensor) -> None:
        """Merge a batch (K, B, features) by the parallel formula of Chan, Golub and LeVeque (1979)."""
        variance, mean = torch.var_mean(batch, dim=1, correction=0)
        new = batch.shape[1]
        total = self.counts + new
        difference = mean - self.mean
        between = (self.counts * new / total).float()
        squares = self.variance * self.counts.float() + variance * new + difference.square() * between
        self._set(self.mean + difference * (new / total).float(), squares / total.float())
        self.counts = total

    def restart(self, groups: Sequence[int]) -> None:
        """Forget what these candidates have seen."""
        rows = list(groups)
        self.counts[rows] = 0.0
        mean, variance = self.mean.clone(), self.variance.clone()
        mean[rows], variance[rows] = 0.0, 1.0
        self._set(mean, variance)

    def normalize(self, x: Tensor) -> Tensor:
        """(x - mean) / std of x (K, B, features), clipped to +-LIMIT."""
        return (x - self.mean.unsqueeze(1)).mul_(self._inverse).clamp_(-LIMIT, LIMIT)

    def denormalize(self, y: Tensor) -> Tensor:
        """Inverse of normalize (without its clipping) for y (K, B, features)."""
        return y * self.scale.unsqueeze(1) + self.mean.unsqueeze(1)

    def keep(self, groups: list[int]) -> None:
        """Go on with these candidates only."""
        self.counts = self.counts[groups]
        self._set(self.mean[groups], self.variance[groups])

    def state_dict(self) -> dict[str, Any]:
        """The state for checkpoints."""
        return {"mean": self.mean, "variance": self.variance, "count": self.counts}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state_dict."""
        self._set(state["mean"].to(self.mean.device), state["variance"].to(self.mean.device))
        count = torch.as_tensor(state["count"], dtype=torch.float64, device=self.mean.device)
        self.counts = count.expand(len(self.mean), 1).clone()  # a number in files of earlier versions

    def _set(self, mean: Tensor, variance: Tensor) -> None:
        self.mean, self.variance = mean, variance
        self.scale = (variance + EPSILON).sqrt()
        """Standard deviations [K, features], never zero."""
        self._inverse = self.scale.reciprocal().unsqueeze(1)
