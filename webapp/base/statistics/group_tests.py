"""Means of groups, and what separates two of them: difference, standardized effect, test. Over SciPy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean
from typing import Literal

import numpy as np
import scipy

from webapp.base.statistics.corrections import holm
from webapp.base.statistics.proportions import Interval
from webapp.base.statistics.rank_tests import compare_by_seed, mann_whitney

# scipy loads scipy.stats on first use, so that web processes that show no results do not load it.

LEVEL = 0.95
SMALL = 10
"""Below this number of units in a group, results say that it is small."""
Group = Mapping[str, float]
"""One value per unit: a participant, or a panel that judged together."""


@dataclass(frozen=True)
class Mean:
    count: int
    mean: float
    deviation: float | None
    """Sample standard deviation (n - 1); None for one value."""
    interval: Interval | None
    """95% interval from Student's t; None for one value."""


@dataclass(frozen=True)
class Comparison:
    """Two groups: the second minus the first."""

    first: str
    second: str
    design: Literal["independent", "paired"]
    counts: tuple[int, int]
    """Units that the test uses. Where it is paired, both numbers are the pairs."""
    difference: float
    interval: Interval | None
    """95% interval of the difference, not corrected for several comparisons."""
    p: float | None
    """Welch's t test, or the paired t test; None if it cannot be computed."""
    adjusted: float | None
    """p after Holm's correction over all pairs of groups; equal to p for two groups."""
    effect: float | None
    """Hedges' g; of the differences where paired."""
    effect_interval: Interval | None
    rank_p: float | None
    """The exact Mann-Whitney test; where paired, the exact sign-flip test."""
    left_out: int
    """Units that a paired test cannot use, because they have a value in one of the two groups only."""
    shared: int
    """Units with a value in both groups."""

    @property
    def test(self) -> str:
        return "paired t test" if self.design == "paired" else "Welch's t test"

    @property
    def rank_test(self) -> str:
        return "exact sign-flip test" if self.design == "paired" else "exact Mann-Whitney test"

    @property
    def small(self) -> bool:
        return min(self.counts) < SMALL


def summarize_mean(values: Sequence[float]) -> Mean:
    """Raises ValueError without values."""
    if not values:
        raise ValueError("a mean needs a value")
    mean = fmean(values)
    if len(values) == 1:
        return Mean(1, mean, None, None)
    deviation = float(np.std(values, ddof=1))
    half = float(scipy.stats.t.ppf((1 + LEVEL) / 2, len(values) - 1)) * deviation / math.sqrt(len(values))
    return Mean(len(values), mean, deviation, Interval(mean - half, mean + half))


def compare_groups(groups: Mapping[str, Group]) -> list[Comparison]:
    """Every pair of groups that have values, with p corrected by Holm's method over these pairs."""
    filled = {name: values for name, values in groups.items() if values}
    found = [compare_two((a, filled[a]), (b, filled[b])) for a, b in combinations(filled, 2)]
    tested = [index for index, one in enumerate(found) if one.p is not None]
    adjusted = holm([found[index].p or 0.0 for index in tested])
    for index, p in zip(tested, adjusted, strict=True):
        found[index] = replace(found[index], adjusted=p)
    return found


def compare_two(first: tuple[str, Group], second: tuple[str, Group]) -> Comparison:
    """Paired over the units that are in both groups, where these are most of all units; else independent."""
    (first_name, a), (second_name, b) = first, second
    both = [unit for unit in a if unit in b]
    only_one = len(a) + len(b) - 2 * len(both)
    paired = len(both) >= 2 and len(both) >= only_one
    left, right = (
        ([a[unit] for unit in both], [b[unit] for unit in both]) if paired else (list(a.values()), list(b.values()))
    )
    interval, p = _test(left, right, paired)
    effect, effect_interval = _standardize(left, right, paired)
    return Comparison(
        first=first_name,
        second=second_name,
        design="paired" if paired else "independent",
        counts=(len(left), len(right)),
        difference=fmean(right) - fmean(left),
        interval=interval,
        p=p,
        adjusted=p,
        effect=effect,
        effect_interval=effect_interval,
        rank_p=compare_by_seed(right, left).p if paired else mann_whitney(left, right).p,
        left_out=only_one if paired else 0,
        shared=len(both),
    )


def _test(left: Sequence[float], right: Sequence[float], paired: bool) -> tuple[Interval | None, float | None]:
    """Interval of the difference, and p; None where a group is too small or nothing varies."""
    varies = len({b - a for a, b in zip(left, right, strict=True)}) > 1 if paired else len({*left}) + len({*right}) > 2
    if min(len(left), len(right)) < 2 or not varies:
        return None, None
    test = scipy.stats.ttest_rel(right, left) if paired else scipy.stats.ttest_ind(right, left, equal_var=False)
    bounds = test.confidence_interval(LEVEL)
    return Interval(float(bounds.low), float(bounds.high)), float(test.pvalue)


def _standardize(left: Sequence[float], right: Sequence[float], paired: bool) -> tuple[float | None, Interval | None]:
    """Hedges' g with its large-sample interval (Hedges and Olkin, 1985); None where it is undefined."""
    n, m = len(left), len(right)
    if min(n, m) < 2:
        return None, None
    if paired:
        gaps = np.subtract(right, left)
        freedom, scale, gap = n - 1, float(gaps.std(ddof=1)), float(gaps.mean())
    else:
        freedom, gap = n + m - 2, fmean(right) - fmean(left)
        scale = math.sqrt(((n - 1) * np.var(left, ddof=1) + (m - 1) * np.var(right, ddof=1)) / freedom)
    if scale == 0:
        return None, None
    g = (1 - 3 / (4 * freedom - 1)) * gap / scale
    error = math.sqrt(1 / n + g * g / (2 * n)) if paired else math.sqrt((n + m) / (n * m) + g * g / (2 * (n + m)))
    half = float(scipy.stats.norm.ppf((1 + LEVEL) / 2)) * error
    return g, Interval(g - half, g + half)
