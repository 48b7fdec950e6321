"""The mean of a sample, a ratio of two sums or a share, each with its error and 95% interval."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import scipy

# scipy loads scipy.special on first use: trainings start without it.


@dataclass(frozen=True)
class Estimate:
    """A mean and how well it is known. There is no interval where all values are equal: they do not tell one."""

    mean: float
    std: float
    """Sample standard deviation; 0 of one value."""
    count: int
    error: float | None = None
    """Standard error of the mean."""
    low: float | None = None
    high: float | None = None
    """The 95% interval of the mean: by Student's t; of a share by Clopper and Pearson."""


def estimate_mean(values: Sequence[float]) -> Estimate:
    """The mean of independent values, at least one."""
    return estimate_ratio(values, [1] * len(values))


def estimate_ratio(sums: Sequence[float], counts: Sequence[int]) -> Estimate:
    """sum(sums) / sum(counts), a mean over all that was counted; the pairs are independent, the counts positive.

    The error is the ratio estimator's, std(sums - mean * counts) / (mean(counts) * sqrt(n)), which with equal counts
    is the usual one. `std` is that of the n quotients.
    """
    n, total = len(sums), sum(counts)
    mean = math.fsum(sums) / total
    quotients = [value / count for value, count in zip(sums, counts, strict=True)]
    if len(set(quotients)) == 1:
        return Estimate(mean, 0.0, n)
    residuals = [(value - mean * count) * n / total for value, count in zip(sums, counts, strict=True)]
    error = math.sqrt(math.fsum(residual * residual for residual in residuals) / (n * (n - 1)))
    half = float(scipy.special.stdtrit(n - 1, 0.975)) * error  # the 97.5% quantile of Student's t
    return Estimate(mean, statistics.stdev(quotients), n, error, mean - half, mean + half)


def estimate_share(outcomes: Sequence[float]) -> Estimate:
    """The share of independent outcomes, each 0 or 1, at least one.

    The interval is Clopper and Pearson's exact one, which 8 of 8 have too (0.63 to 1). It is written here again because
    the trainer runs without `webapp`, where comparisons have theirs.
    """
    n, count = len(outcomes), round(math.fsum(outcomes))
    mean = count / n
    low = float(scipy.special.betaincinv(count, n - count + 1, 0.025)) if count else 0.0
    high = float(scipy.special.betaincinv(count + 1, n - count, 0.975)) if count < n else 1.0
    std = statistics.stdev(outcomes) if n > 1 else 0.0
    return Estimate(mean, std, n, math.sqrt(mean * (1 - mean) / n), low, high)
