"""Exact rank tests for a handful of experiments a side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb


@dataclass(frozen=True)
class RankTest:
    """A two-sided Mann-Whitney U test. `u` counts pairs in which the first sample is higher; a tie counts half."""

    u: float
    p: float
    first: int
    """Size of the first sample."""
    second: int

    @property
    def least_p(self) -> float:
        """The smallest p that samples of these sizes can give."""
        return min(1.0, 2 / comb(self.first + self.second, self.first))


def mann_whitney(first: Sequence[float], second: Sequence[float]) -> RankTest:
    """The exact permutation test, ties included as they are.

    p is the share of all divisions of the pooled values whose rank sum lies at least as far from its mean as the one
    observed. Raises ValueError for an empty sample.
    """
    if not first or not second:
        raise ValueError("a rank test needs a value on each side")
    pooled = sorted([*first, *second])
    doubled = {v: 2 * pooled.index(v) + pooled.count(v) + 1 for v in pooled}  # twice the mid-rank, a whole number
    observed = sum(doubled[v] for v in first)
    centre = len(first) * (len(pooled) + 1)  # twice the mean rank sum
    sums = rank_sums([doubled[v] for v in pooled], len(first))
    extreme = sum(count for value, count in sums.items() if abs(value - centre) >= abs(observed - centre))
    u = observed / 2 - len(first) * (len(first) + 1) / 2
    return RankTest(u, extreme / comb(len(pooled), len(first)), len(first), len(second))


def rank_sums(ranks: Sequence[int], size: int) -> Counter[int]:
    """How many of the subsets of this size have which sum."""
    found: list[Counter[int]] = [Counter({0: 1})] + [Counter() for _ in range(size)]
    for rank in ranks:
        for taken in range(size, 0, -1):
            for value, count in found[taken - 1].items():
                found[taken][value + rank] += count
    return found[size]


def holm(values: Sequence[float]) -> list[float]:
    """P values corrected for testing all of them (Holm 1979), in the same order."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    corrected = [0.0] * len(values)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - rank) * values[index]))
        corrected[index] = highest
    return corrected
