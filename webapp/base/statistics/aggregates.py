"""Scores of few runs on several tasks: interquartile mean, probability of improvement, performance profile, as Agarwal
et al. (2021) define them, each with a percentile interval from SciPy's bootstrap, stratified by task.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from webapp.base.statistics.proportions import Interval

# scipy loads scipy.stats on first use, so that web processes that show no results do not load it.

LEVEL = 0.95
RESAMPLES = 2000
TRIMMED = 0.25
POWER = 0.8
Strata = tuple[tuple[float, ...], ...]
"""The values of each task's runs."""


def compute_interquartile_mean(values: tuple[float, ...]) -> float:
    """The mean of the middle half. Raises ValueError without values."""
    if not values:
        raise ValueError("a mean needs a value")
    return float(scipy.stats.trim_mean(values, TRIMMED))


@lru_cache(maxsize=4096)
def bound_interquartile_mean(strata: Strata) -> Interval | None:
    """The interval of the interquartile mean over all runs; None where a task has fewer than two."""

    def statistic(*samples: Any, axis: int) -> Any:
        return scipy.stats.trim_mean(np.concatenate(samples, axis=axis), TRIMMED, axis=axis)

    return _bootstrap_interval(strata, statistic)


@lru_cache(maxsize=4096)
def bound_mean(strata: Strata) -> Interval | None:
    """The interval of the mean over all runs; None where a task has fewer than two."""

    def statistic(*samples: Any, axis: int) -> Any:
        return np.concatenate(samples, axis=axis).mean(axis=axis)

    return _bootstrap_interval(strata, statistic)


def estimate_improvement(first: Strata, second: Strata) -> float:
    """Probability that a run of the first is higher than one of the second on the same task, mean over the tasks; a tie
    counts half.
    """
    return float(np.mean([_compute_share_higher(np.array(a), np.array(b)) for a, b in zip(first, second, strict=True)]))


@lru_cache(maxsize=4096)
def bound_improvement(first: Strata, second: Strata) -> Interval | None:
    """Its interval; None where either has fewer than two runs on a task."""
    tasks = len(first)

    def statistic(*samples: Any, axis: int) -> Any:
        return np.mean(
            [_compute_share_higher(a, b) for a, b in zip(samples[:tasks], samples[tasks:], strict=True)],
            axis=0,
        )

    return _bootstrap_interval((*first, *second), statistic)


@lru_cache(maxsize=1024)
def compute_profile(strata: Strata, thresholds: tuple[float, ...]) -> tuple[tuple[float, Interval | None], ...]:
    """For each threshold, the share of runs above it, mean over the tasks, with its interval."""
    return tuple((_compute_share_above(strata, at), _bound_share(strata, at)) for at in thresholds)


def _compute_share_above(strata: Strata, threshold: float) -> float:
    return float(np.mean([np.mean(np.array(values) > threshold) for values in strata]))


def _bound_share(strata: Strata, threshold: float) -> Interval | None:
    def statistic(*samples: Any, axis: int) -> Any:
        return np.mean([(sample > threshold).mean(axis=axis) for sample in samples], axis=0)

    return _bootstrap_interval(strata, statistic)


def _compute_share_higher(first: Any, second: Any) -> Any:
    """(..., n) and (..., m) -> (...)."""
    gaps = first[..., :, None] - second[..., None, :]
    return ((gaps > 0) + 0.5 * (gaps == 0)).mean(axis=(-2, -1))


def _bootstrap_interval(samples: Strata, statistic: Callable[..., Any]) -> Interval | None:
    """SciPy draws within each sample, which makes it stratified."""
    if not samples or min(map(len, samples)) < 2:
        return None
    arrays = tuple(np.array(values) for values in samples)
    found = scipy.stats.bootstrap(
        arrays,
        statistic,
        n_resamples=RESAMPLES,
        vectorized=True,
        confidence_level=LEVEL,
        method="percentile",
        rng=0,
    )
    low, high = map(float, found.confidence_interval)
    return Interval(low, high)


def compute_detectable_difference(deviation: float, pairs: int, alpha: float) -> float | None:
    """The smallest mean difference that a two-sided test of this many pairs finds with a power of 0.8, where the pairs'
    differences are normal with this deviation. None where no difference, however large, could be found: the sign-flip
    test of n pairs has no p below 2 / 2^n.
    """
    if pairs < 2 or 2 / 2**pairs > alpha:
        return None
    return compute_detectable_shift(pairs, alpha) * deviation


def compute_detectable_shift(pairs: int, alpha: float) -> float:
    """The same by the paired t test, in standard deviations of the differences; two pairs at least."""
    return _find_shift(pairs - 1, alpha) / math.sqrt(pairs)


@lru_cache(maxsize=1024)
def compute_detectable_gap(size: int, alpha: float) -> float:
    """The same for two groups of this many different units, two at least, in standard deviations of the units: Welch's
    t test, where both groups spread equally.

    Welch's degrees of freedom follow the first group's share of both sample variances, which has a beta distribution
    and is independent of their sum, as t is Student's given the share.
    """
    half, shares = (size - 1) / 2, (np.arange(64) + 0.5) / 64
    share = scipy.stats.beta.ppf(shares, half, half)
    critical = scipy.stats.t.ppf(1 - alpha / 2, (size - 1) / (share**2 + (1 - share) ** 2))
    return _solve_power(critical, 2 * (size - 1)) * math.sqrt(2 / size)


@lru_cache(maxsize=1024)
def _find_shift(freedom: int, alpha: float) -> float:
    """The noncentrality of t at which a two-sided test has a power of 0.8."""
    return _solve_power(scipy.stats.t.ppf([1 - alpha / 2], freedom), freedom)


def _solve_power(critical: Any, freedom: int) -> float:
    """The noncentrality at which t passes the critical values, each as likely as the others, in eight of ten cases."""

    def miss(shift: float) -> float:
        reached = scipy.stats.nct.sf(critical, freedom, shift)  # the other tail is below 1e-4 here
        return float(np.nan_to_num(reached, nan=1.0).mean()) - POWER  # SciPy's is not a number far beyond the value

    return float(scipy.optimize.brentq(miss, 0.0, 10 * critical.max() + 10))


def estimate_noise_floor(differences: tuple[float, ...], pairs: int) -> float | None:
    """How large a mean of `pairs` differences chance makes in 95 of 100 cases, from differences of pairs that differ by
    chance alone, whose mean is 0. None without any.
    """
    if not differences or not pairs:
        return None
    spread = math.sqrt(sum(one * one for one in differences) / len(differences))
    return float(scipy.stats.t.ppf((1 + LEVEL) / 2, len(differences))) * spread / math.sqrt(pairs)
