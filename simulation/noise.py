"""Random numbers that depend on a group's seed alone: groups of one seed get the same numbers in any company."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor


class SharedNoise:
    """One stream per distinct seed, drawn on the CPU so that it is the same on every device.

    Every draw has a first dimension of K, a row per group; of 1 where all groups have the same seed, to be broadcast.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        distinct = list(dict.fromkeys(seeds))
        self.streams = [torch.Generator().manual_seed(seed) for seed in distinct]
        self.owners = [distinct.index(seed) for seed in seeds]
        """The stream of each of the K groups."""

    def uniform(self, *shape: int) -> Tensor:
        """float32 in [0, 1), (K or 1, *shape)."""
        return self._draw_tables(lambda stream: torch.rand(shape, generator=stream, device="cpu"))

    def normal(self, *shape: int) -> Tensor:
        """Standard normal float32, (K or 1, *shape)."""
        return self._draw_tables(lambda stream: torch.randn(shape, generator=stream, device="cpu"))

    def permutation(self, count: int) -> Tensor:
        """The numbers 0 to count - 1 in random order, int64 (K or 1, count)."""
        return self._draw_tables(lambda stream: torch.randperm(count, generator=stream, device="cpu"))

    def integers(self, high: int, *shape: int) -> Tensor:
        """Integers from 0 to high - 1, int64 (K or 1, *shape)."""
        return self._draw_tables(lambda stream: torch.randint(high, shape, generator=stream, device="cpu"))

    def keep(self, groups: Sequence[int]) -> None:
        """Go on with these groups only."""
        owners = [self.owners[group] for group in groups]
        needed = sorted(set(owners))
        self.streams = [self.streams[stream] for stream in needed]
        self.owners = [needed.index(owner) for owner in owners]

    def state_dict(self) -> dict[str, Any]:
        """The state for checkpoints."""
        return {"streams": torch.stack([stream.get_state() for stream in self.streams]), "owners": self.owners}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state_dict."""
        self.owners = list(state["owners"])
        self.streams = [torch.Generator() for _ in state["streams"]]
        for stream, saved in zip(self.streams, state["streams"], strict=True):
            stream.set_state(saved.clone())  # a view is refused

    def _draw_tables(self, draw: Callable[[torch.Generator], Tensor]) -> Tensor:
        tables = torch.stack([draw(stream) for stream in self.streams])
        return tables if len(tables) == 1 else tables[self.owners]


class StepNoise:
    """Uniform noise for every control step of K groups of M worlds, drawn for many steps at once.

    The numbers are those of one draw a step; a call costs more than the numbers do.
    """

    LARGEST = 1 << 18
    """Numbers of a stream to draw ahead."""

    def __init__(self, seeds: Sequence[int], worlds: int, size: int) -> None:
        self._source = SharedNoise(seeds)
        self._shape = (worlds, size)
        self._steps = min(32, max(1, self.LARGEST // max(1, worlds * size)))
        self._ahead: list[Tensor] = []
        """Draws that are not used yet, the next one last: each (K or 1, M, size)."""

    def next(self) -> Tensor:
        """The noise of the next step: float32 in [0, 1), (K or 1, M, size)."""
        if not self._ahead:
            self._ahead = list(self._source.uniform(self._steps, *self._shape).unbind(1))[::-1]
        return self._ahead.pop()

    def keep(self, groups: Sequence[int]) -> None:
        """Go on with these groups only."""
        self._source.keep(groups)
        self._ahead = [noise if len(noise) == 1 else noise[list(groups)] for noise in self._ahead]

    def state_dict(self) -> dict[str, Any]:
        """The state for checkpoints."""
        return self._source.state_dict() | {"ahead": [noise.clone() for noise in self._ahead]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state_dict; an old one, of a SharedNoise, had nothing drawn ahead."""
        self._source.load_state_dict(state)
        self._ahead = list(state.get("ahead", ()))
