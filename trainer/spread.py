"""Mean, spread and 95% interval of a sample, of a ratio of two sums, and of a share."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import betaincinv

T_975 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""97.5% quantiles of Student's t with 1 to 10 degrees of freedom."""
Z_975 = 1.959964


@dataclass(frozen=True)
class Spread:
    """A mean and how well it is known; without an interval where the values do not differ: they say nothing of it."""

    mean: float
    std: float
    """Sample standard deviation; 0 of one value."""
    count: int
    error: float | None = None
    """Standard error of the mean."""
    low: float | None = None
    high: float | None = None
    """The 95% interval of the mean: by Student's t; of a share by Clopper and Pearson."""


def spread(values: Sequence[float]) -> Spread:
    """Of independent values, at least one."""
    return ratio(values, [1] * len(values))


def ratio(sums: Sequence[float], counts: Sequence[int]) -> Spread:
    """Of sum(sums) / sum(counts), where (sums[i], counts[i]) are independent and counts positive: a mean over all that
    was counted. Its error is the ratio estimator's, std(sums - mean * counts) / (mean(counts) * sqrt(n)), which with
    equal counts is the usual one. `std` is that of the n quotients.
    """
    n, total = len(sums), sum(counts)
    mean = math.fsum(sums) / total
    quotients = [value / count for value, count in zip(sums, counts, strict=True)]
    if len(set(quotients)) == 1:
        return Spread(mean, 0.0, n)
    residuals = [(value - mean * count) * n / total for value, count in zip(sums, counts, strict=True)]
    error = math.sqrt(math.fsum(residual * residual for residual in residuals) / (n * (n - 1)))
    half = t_975(n - 1) * error
    return Spread(mean, statistics.stdev(quotients), n, error, mean - half, mean + half)


def share(outcomes: Sequence[float]) -> Spread:
    """Of independent outcomes, each 0 or 1, at least one. The interval is Clopper and Pearson's exact one, which also
    8 of 8 have (0.63 to 1).
    """
    n, count = len(outcomes), round(math.fsum(outcomes))
    mean = count / n
    low = float(betaincinv(count, n - count + 1, 0.025)) if count else 0.0
    high = float(betaincinv(count + 1, n - count, 0.975)) if count < n else 1.0
    std = statistics.stdev(outcomes) if n > 1 else 0.0
    return Spread(mean, std, n, math.sqrt(mean * (1 - mean) / n), low, high)


def t_975(degrees: int) -> float:
    """The 97.5% quantile of Student's t; beyond the table by Cornish and Fisher's expansion, within 0.003."""
    if degrees <= len(T_975):
        return T_975[degrees - 1]
    z = Z_975
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
