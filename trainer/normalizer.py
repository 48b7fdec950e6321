"""Running mean and variance per candidate, for observations and values."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

EPSILON = 1e-5
LIMIT = 10.0
"""Normalised observations are clipped to this many standard deviations."""


class RunningNormalizer:
    """Mean and population variance [K, features] of everything seen so far by each of K candidates."""

    def __init__(self, candidates: int, features: int) -> None:
        self.mean = torch.zeros(candidates, features)
        self.variance = torch.ones(candidates, features)
        self.count = 0

    @property
    def scale(self) -> Tensor:
        """Standard deviations [K, features], never zero."""
        return (self.variance + EPSILON).sqrt()

    def update(self, batch: Tensor) -> None:
        """Merge a batch (K, B, features) by the parallel formula of Chan, Golub and LeVeque (1979)."""
        variance, mean = torch.var_mean(batch, dim=1, correction=0)
        new = batch.shape[1]
        total = self.count + new
        difference = mean - self.mean
        self.mean = self.mean + difference * (new / total)
        squares = self.variance * self.count + variance * new + difference.square() * (self.count * new / total)
        self.variance = squares / total
        self.count = total

    def normalize(self, x: Tensor) -> Tensor:
        """(x - mean) / std of x (K, B, features), clipped to +-LIMIT."""
        return ((x - self.mean.unsqueeze(1)) / self.scale.unsqueeze(1)).clamp_(-LIMIT, LIMIT)

    def denormalize(self, y: Tensor) -> Tensor:
        """Inverse of normalize (without its clipping) for y (K, B, features)."""
        return y * self.scale.unsqueeze(1) + self.mean.unsqueeze(1)

    def keep(self, groups: list[int]) -> None:
        """Go on with these candidates only."""
        self.mean, self.variance = self.mean[groups], self.variance[groups]

    def state_dict(self) -> dict[str, Any]:
        """For checkpoints."""
        return {"mean": self.mean, "variance": self.variance, "count": self.count}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state_dict."""
        self.mean, self.variance, self.count = state["mean"], state["variance"], state["count"]
