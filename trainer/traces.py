"""Reward traces: the course of every component, the total, the episode length and the hidden metric over a run."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
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

    def average_over(self, worlds: int) -> Series:
        """After each iteration the mean of all worlds' last values, 0 for those without: where c values of mean v come,
        m <- m + (v - m) c / worlds. As IsaacGymEnvs' authors average what counts at the end of an episode.
        """
        means, last = [], 0.0
        for total, count in zip(self.sums, self.counts, strict=True):
            if count:
                last += (total / count - last) * min(1.0, count / worlds)
            means.append(last)
        return Series(means, [1] * len(means))

    def interval_means(self, intervals: int, iterations: int) -> list[float]:
        """Means over `intervals` equal parts of a run of `iterations`, as far as the run got.

        An interval in which nothing was counted (no episode ended, say) repeats the one before, or the first that
        counted something; when nothing ever was, the list is empty.
        """
        bounds = compute_interval_bounds(intervals, iterations)
        means: list[float] = []
        for begin, end in zip(bounds[:-1], bounds[1:], strict=True):
            if begin >= len(self.sums):
                break
            count = sum(self.counts[begin:end])
            means.append(math.fsum(self.sums[begin:end]) / count if count else math.nan)
        return _fill_gaps(means)


def compute_interval_bounds(intervals: int, iterations: int) -> list[int]:
    """The iterations at which nearly equal parts of a run begin, and the last ends; one iteration each where a run has
    fewer iterations than intervals.
    """
    parts = min(intervals, iterations)
    return [round(i * iterations / parts) for i in range(parts + 1)]


def _fill_gaps(means: list[float]) -> list[float]:
    known = [mean for mean in means if not math.isnan(mean)]
    if not known:
        return []
    filled, last = [], known[0]
    for mean in means:
        last = last if math.isnan(mean) else mean
        filled.append(last)
    return filled


def summarize_series(series: Series, iterations: int) -> dict[str, Any]:
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


def summarize_metric(series: Series, iterations: int) -> dict[str, Any]:
    """As summary, with every interval in "all"; empty where nothing was counted."""
    short = summarize_series(series, iterations)
    return short | {"all": series.interval_means(INTERVALS, iterations)} if short else {}


def write_table(path: Path, metric: Series, series: Mapping[str, Series], iterations: int, samples: int) -> None:
    """Write a CSV with a row for each interval that the RTS is the maximum over, as far as the run got: its number, the
    samples seen by its end (a whole run has `samples`) and the interval's means; empty where nothing was counted.
    """
    names = {"total": "reward", "episode_length": "episode_length"}
    columns = {"metric": metric} | {names.get(name, f"reward/{name}"): values for name, values in series.items()}
    trained = max(len(column.sums) for column in columns.values())
    bounds = compute_interval_bounds(INTERVALS, iterations)
    reached = [min(end, trained) for begin, end in zip(bounds[:-1], bounds[1:], strict=True) if begin < trained]
    means = [column.interval_means(INTERVALS, iterations) or [math.nan] * len(reached) for column in columns.values()]
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    try:
        with temporary.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["interval", "samples", *columns])
            for row, end in enumerate(reached):
                writer.writerow(
                    [row + 1, end * samples // iterations, *("" if math.isnan(v[row]) else v[row] for v in means)]
                )
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    os.replace(temporary, path)
