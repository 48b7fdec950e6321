"""Quality of a study's answers: agreement, position bias, speed. Pure functions over numbers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Level = Literal["nominal", "ordinal", "interval"]
LEAST_FOR_QUARTERS = 5
RESAMPLES = 1000
"""Bootstrap and Monte Carlo draws, from a fixed seed: the same answers give the same figures."""


@dataclass(frozen=True)
class Agreement:
    """Krippendorff's alpha: 1 for full agreement, 0 for agreement by chance."""

    alpha: float
    low: float
    high: float
    """95% percentile interval over resampled units."""
    raters: int
    units: int
    """Items rated by at least two raters."""


@dataclass(frozen=True)
class Bias:
    """How often each place was picked, and how often it would be if places did not matter."""

    counts: tuple[int, ...]
    expected: tuple[float, ...]
    p: float | None
    """None if there are so few picks that even the same place every time would not be significant at 5%."""

    @property
    def picks(self) -> int:
        return sum(self.counts)


@dataclass(frozen=True)
class Times:
    """Seconds to an answer."""

    count: int
    median: float
    quarters: tuple[float, float] | None
    """Lower and upper quartile; None for fewer than LEAST_FOR_QUARTERS answers."""


def measure_agreement(ratings: Sequence[Mapping[Hashable, float]], level: Level) -> Agreement | None:
    """Krippendorff's alpha (2011), from one mapping unit -> value per rater.

    None if no unit has two ratings, or if all ratings are equal: alpha is then undefined.
    """
    units = sorted({unit for rater in ratings for unit in rater}, key=repr)
    table = np.array([[rater.get(unit, np.nan) for unit in units] for rater in ratings], dtype=float)
    if not table.size:
        return None
    table = table[:, (~np.isnan(table)).sum(axis=0) >= 2]
    values = np.unique(table[~np.isnan(table)])
    counts = np.array([(table == value).sum(axis=0) for value in values]).T
    alpha = _compute_alpha(counts, values, level)
    if alpha is None:
        return None
    draws, count = np.random.default_rng(0), len(counts)
    resampled = (_compute_alpha(counts[draws.integers(0, count, count)], values, level) for _ in range(RESAMPLES))
    low, high = np.quantile([value for value in resampled if value is not None], (0.025, 0.975))
    return Agreement(alpha, float(low), float(high), int((~np.isnan(table)).any(axis=1).sum()), count)


def _compute_alpha(counts: np.ndarray, values: np.ndarray, level: Level) -> float | None:
    """Alpha from `counts` (units, values): how many raters gave each unit each value."""
    import krippendorff  # with numpy's linear algebra: loaded when a result is first shown

    if not counts.size or (counts.sum(axis=0) > 0).sum() < 2:
        return None
    return float(krippendorff.alpha(value_counts=counts, value_domain=values, level_of_measurement=level))


def measure_position_bias(picks: Sequence[tuple[int, int]]) -> Bias | None:
    """Test whether some places are picked more often; picks are (place from 0, number of places). None without picks.

    p is the share of random draws whose sum of (count - expected)^2 / expected is at least the observed one: a Monte
    Carlo test, because counts are small and rounds may have different numbers of places.
    """
    if not picks:
        return None
    sizes = np.array([size for _, size in picks])
    places = int(sizes.max())
    expected = np.array([sum(1 / size for size in sizes if place < size) for place in range(places)])
    counts = np.bincount([place for place, _ in picks], minlength=places)
    if sizes.min() * np.prod(1 / sizes) > 0.05:  # the probability that all picks are the same place
        return Bias(tuple(map(int, counts)), tuple(map(float, expected)), None)
    seen = _measure_distance(counts, expected)
    draws = np.random.default_rng(0)
    drawn = (draws.random((RESAMPLES, len(sizes))) * sizes).astype(int)
    random = [_measure_distance(np.bincount(row, minlength=places), expected) for row in drawn]
    as_far = sum(value >= seen - 1e-9 for value in random)
    return Bias(tuple(map(int, counts)), tuple(map(float, expected)), (as_far + 1) / (RESAMPLES + 1))


def _measure_distance(counts: np.ndarray, expected: np.ndarray) -> float:
    return float(((counts - expected) ** 2 / expected).sum())


def summarize_times(seconds: Sequence[float]) -> Times | None:
    """Median, and quartiles if there are enough answers; None without answers."""
    if not seconds:
        return None
    quarter, median, three_quarters = np.quantile(seconds, (0.25, 0.5, 0.75))
    enough = len(seconds) >= LEAST_FOR_QUARTERS
    return Times(len(seconds), float(median), (float(quarter), float(three_quarters)) if enough else None)
