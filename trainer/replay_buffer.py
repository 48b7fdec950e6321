"""Rows of experience of K candidates, packed so that a minibatch is one indexing operation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from trainer import memory
from trainer.log_lines import say


def select(packed: Tensor, indices: Tensor) -> Tensor:
    """The rows `indices` (K or 1, B) of packed (K, N, F), as (K, B, F); 1: the same rows of every candidate."""
    if len(indices) == 1:
        return packed.index_select(1, indices[0])
    first = torch.arange(len(packed), device=packed.device).unsqueeze(1) * packed.shape[1]
    rows = packed.flatten(0, 1).index_select(0, (first + indices).flatten())
    return rows.view(len(packed), -1, packed.shape[2])


class ReplayBuffer:
    """The newest rows of each of K candidates, at most `capacity`; half as many where memory does not suffice."""

    def __init__(self, candidates: int, capacity: int, features: int, device: torch.device | str = "cpu") -> None:
        self.capacity = capacity
        self.rows = memory.retry_halved(
            lambda: torch.zeros(candidates, self.capacity, features, device=device), self._halve
        )
        """(K, capacity, features), of which the first `size` are filled."""
        self.size = 0
        self._next = 0

    def add(self, rows: Tensor) -> None:
        """Add rows (K, N, features), in place of the oldest where it is full."""
        rows = rows[:, -self.capacity :]
        first = min(rows.shape[1], self.capacity - self._next)
        self.rows[:, self._next : self._next + first] = rows[:, :first]
        self.rows[:, : rows.shape[1] - first] = rows[:, first:]
        self._next = (self._next + rows.shape[1]) % self.capacity
        self.size = min(self.size + rows.shape[1], self.capacity)

    def places(self, ages: Tensor) -> Tensor:
        """Where the samples of these ages lie, below `size`: 0 is the newest."""
        return (self._next - 1 - ages) % self.capacity

    def keep(self, groups: list[int]) -> None:
        """Go on with these candidates only."""
        self.rows = self.rows[groups]

    def keep_features(self, columns: list[int]) -> None:
        """Go on with these columns only."""
        self.rows = self.rows[..., columns]

    def state_dict(self) -> dict[str, Any]:
        """For checkpoints: all rows, since what is drawn from them decides what is learned."""
        return {"rows": self.rows[:, : self.size].clone(), "capacity": self.capacity, "next": self._next}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state_dict."""
        candidates, size, features = state["rows"].shape
        device, self.rows = self.rows.device, self.rows[:0].clone()  # memory may not suffice for both
        self.capacity, self._next, self.size = state["capacity"], state["next"], size
        self.rows = torch.zeros(candidates, self.capacity, features, device=device)
        self.rows[:, :size] = state["rows"].to(device)

    def _halve(self) -> bool:
        if self.capacity < 2:
            return False
        self.capacity //= 2
        say(f"a replay buffer of that size does not fit into memory: going on with {self.capacity} samples")
        return True
