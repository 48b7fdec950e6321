"""Exact tests for small samples: by rank and by seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import mean, stdev

import numpy as np
import scipy


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
    """The exact permutation test with ties.

    p is the share of all divisions of the pooled values whose rank sum lies at least as far from its mean as the one
    observed. Raises ValueError for an empty sample.
    """
    if not first or not second:
        raise ValueError("a rank test needs a value on each side")
    pooled = sorted([*first, *second])
    doubled = {v: 2 * pooled.index(v) + pooled.count(v) + 1 for v in pooled}  # twice the mid-rank, a whole number
    observed = sum(doubled[v] for v in first)
    centre = len(first) * (len(pooled) + 1)  # twice the mean rank sum
    sums = count_rank_sums([doubled[v] for v in pooled], len(first))
    extreme = sum(count for value, count in sums.items() if abs(value - centre) >= abs(observed - centre))
    u = observed / 2 - len(first) * (len(first) + 1) / 2
    return RankTest(u, extreme / comb(len(pooled), len(first)), len(first), len(second))


@dataclass(frozen=True)
class Paired:
    """A two-sided permutation test of differences between experiments with the same seed."""

    difference: float
    """Mean of the first minus the second."""
    deviation: float | None
    """Sample standard deviation (n - 1); None for one difference."""
    p: float


def compare_by_seed(first: Sequence[float], second: Sequence[float]) -> Paired:
    """The sign-flip permutation test: all sign patterns, or 9,999 random ones if there are more.

    Raises ValueError for empty samples or samples of different length.
    """
    if not first or len(first) != len(second):
        raise ValueError("a test by seed needs two samples of the same length, not empty")
    gaps = [a - b for a, b in zip(first, second, strict=True)]
    if len(gaps) == 1:
        return Paired(gaps[0], None, 1.0)
    found = scipy.stats.permutation_test(
        (np.array(first), np.array(second)),
        lambda a, b, axis: (a - b).mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        rng=0,
    )
    return Paired(mean(gaps), stdev(gaps), float(found.pvalue))


def count_rank_sums(ranks: Sequence[int], size: int) -> Counter[int]:
    """For each possible sum, the number of subsets of this size that have it."""
    found: list[Counter[int]] = [Counter({0: 1})] + [Counter() for _ in range(size)]
    for rank in ranks:
        for length in range(size, 0, -1):
            for value, count in found[length - 1].items():
                found[length][value + rank] += count
    return found[size]
