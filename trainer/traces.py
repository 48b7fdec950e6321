"""Reward traces: what every component, the total, the episode length and the hidden metric did over a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

SAMPLES = 10
"""Interval means that a writer is shown."""
INTERVALS = 50
"""Intervals of the hidden metric, whose maximum is the RTS; fewer where the run has fewer iterations."""


class Series:
    """Sums and counts of one quantity, one pair per iteration."""

    def __init__(self, sums: Sequence[float] = (), counts: Sequence[int] = ()) -> None:
        self.sums = list(sums)
        self.counts = list(counts)

    def add(self, total: float, count: int) -> None:
        """Append one iteration."""
        self.sums.append(total)
        self.counts.append(count)

    def interval_means(self, intervals: int, iterations: int) -> list[float]:
        """Means over `intervals` equal parts of a run of so many iterations, as far as the run got.

        An interval in which nothing was counted (no episode ended, say) repeats the one before, or the first that
        counted something; when nothing ever was, the list is empty.
        """
        length = iterations / min(intervals, iterations)
        bounds = [round(i * length) for i in range(min(intervals, iterations) + 1)]
        means: list[float] = []
        for begin, end in zip(bounds[:-1], bounds[1:], strict=True):
            if begin >= len(self.sums):
                break
            count = sum(self.counts[begin:end])
            means.append(math.fsum(self.sums[begin:end]) / count if count else math.nan)
        return _filled(means)


def _filled(means: list[float]) -> list[float]:
    known = [mean for mean in means if not math.isnan(mean)]
    if not known:
        return []
    filled, last = [], known[0]
    for mean in means:
        last = last if math.isnan(mean) else mean
        filled.append(last)
    return filled


def summary(series: Series, iterations: int) -> dict[str, Any]:
    """About ten evenly spaced interval means, and the extremes and mean of all intervals; empty when nothing was
    counted.
    """
    values = series.interval_means(INTERVALS, iterations)
    if not values:
        return {}
    return {
        "samples": series.interval_means(SAMPLES, iterations),
        "max": max(values),
        "mean": math.fsum(values) / len(values),
        "min": min(values),
    }


def metric_summary(series: Series, iterations: int) -> dict[str, Any]:
    """As summary, with every interval in "all"; empty where nothing was counted."""
    short = summary(series, iterations)
    return short | {"all": series.interval_means(INTERVALS, iterations)} if short else {}
