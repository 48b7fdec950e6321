"""Particle entropy: the intrinsic reward of the unsupervised part (PEBBLE, section 4.1, equation 5; RIME, section 4.2,
has it within the bounds of a reward model).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainer.normalizer import RunningNormalizer
from trainer.preferences.algorithms import derive_seed

NEIGHBOUR = 5
RESERVOIR = 16_384
"""States of each row among which neighbours are sought: a random sample of all so far."""
STATES_AT_ONCE = 512
BOUND = 3.0
"""Deviations from the mean that a bounded reward of 1 stands for (RIME's authors' code)."""


def compute_neighbour_distances(states: Tensor, among: Tensor, neighbour: int) -> Tensor:
    """The distance (B,) of each of the states (B, D) to its `neighbour`-th nearest of `among` (S, D), or
    to the farthest of fewer.
    """
    parts = (torch.cdist(part, among) for part in torch.split(states, STATES_AT_ONCE))
    neighbour = min(neighbour, len(among))
    return torch.cat([part.topk(neighbour, dim=1, largest=False).values[:, -1] for part in parts])


class ParticleEntropy:
    """For R rows: how far each state lies from others that the row has been in, over the running deviation of that."""

    def __init__(
        self,
        features: int,
        seeds: Sequence[int],
        device: torch.device | str = "cpu",
        bounded: Sequence[bool] | None = None,
    ) -> None:
        """`features`: D, those of an observation; `bounded`: whether a row's rewards lie in [-1, 1] (none does)."""
        self._seeds = list(seeds)
        self._bounded = [False for _ in seeds] if bounded is None else list(bounded)
        self._states = torch.zeros(len(seeds), RESERVOIR, features, device=device)
        self._deviations = [RunningNormalizer(1, 1, device) for _ in seeds]
        self._seen = [0] * len(seeds)

    def rewards(self, rows: Sequence[int], observations: Tensor) -> Tensor:
        """Intrinsic rewards (rows, B) of observations (rows, B, D), which are then among the states of these rows."""
        found = []
        for row, states in zip(rows, observations, strict=True):
            distances = self._distances(row, states)
            self._deviations[row].update(distances.view(1, -1, 1))
            mean, deviation = self._deviations[row].mean[0], self._deviations[row].scale[0]
            if self._bounded[row]:
                found.append(((distances - mean) / (BOUND * deviation)).clamp(-1.0, 1.0))
            else:
                found.append(distances / deviation)
        return torch.stack(found)

    def keep(self, rows: list[int]) -> None:
        """Go on with these rows only."""
        self._states = self._states[rows]
        for name in ("_deviations", "_seen", "_seeds", "_bounded"):
            setattr(self, name, [getattr(self, name)[row] for row in rows])

    def state_dict(self) -> dict[str, Any]:
        """Everything that a continuation needs: tensors and plain values."""
        most, deviations = min(RESERVOIR, max(self._seen)), [one.state_dict() for one in self._deviations]
        return {"states": self._states[:, :most], "deviations": deviations, "seen": self._seen}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state_dict."""
        rows, most, features = state["states"].shape
        self._states = torch.zeros(rows, RESERVOIR, features, device=self._states.device)
        self._states[:, :most] = state["states"].to(self._states.device)
        for deviation, saved in zip(self._deviations, state["deviations"], strict=True):
            deviation.load_state_dict(saved)
        self._seen = list(state["seen"])

    def _distances(self, row: int, states: Tensor) -> Tensor:
        """Of one row's new states (B, D) to the states before them. The first ones of all: to each other."""
        if self._seen[row] == 0:
            self._sample_reservoir(row, states)
            return compute_neighbour_distances(
                states, self._states[row, : self._seen[row]], NEIGHBOUR + 1
            )  # one is itself
        distances = compute_neighbour_distances(states, self._states[row, : min(RESERVOIR, self._seen[row])], NEIGHBOUR)
        self._sample_reservoir(row, states)
        return distances

    def _sample_reservoir(self, row: int, states: Tensor) -> None:
        """Reservoir sampling (Vitter, 1985, algorithm R) of one row's states (B, D)."""
        before, count = self._seen[row], len(states)
        random = np.random.default_rng(derive_seed("entropy", self._seeds[row], before))
        numbers = np.arange(before, before + count)
        places = np.where(numbers < RESERVOIR, numbers, random.integers(0, numbers + 1))
        _, last = np.unique(places[::-1], return_index=True)  # of two states in one place the later stays
        chosen = np.sort(count - 1 - last)
        chosen = chosen[places[chosen] < RESERVOIR]
        self._states[row, torch.from_numpy(places[chosen])] = states[torch.from_numpy(chosen)]
        self._seen[row] = before + count
