"""The figures of a comparison: learning curves by candidates spent, and the task scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev

from webapp.base.charts import Chart, Series, to_svg
from webapp.comparisons import csv_tables
from webapp.comparisons.experiment_results import Score


def write_figures(task: str, scores: Sequence[Score], folder: Path) -> list[str]:
    """Write this task's figures as SVG; returns the names of the files, none before an experiment has finished."""
    drawn = build_charts(task, scores)
    for chart in drawn:
        csv_tables.replace_file(folder / f"{chart.slug}.svg", to_svg(chart))
    return [f"{chart.slug}.svg" for chart in drawn]


def build_charts(task: str, scores: Sequence[Score]) -> list[Chart]:
    scored = [score for score in scores if score.values]
    return [build_curves_chart(task, scored), build_scores_chart(task, scored)] if scored else []


def build_curves_chart(task: str, scores: Sequence[Score]) -> Chart:
    """Best RTS so far over the candidates trained: mean and deviation of each arm."""
    series = []
    for score in scores:
        spent, means, spreads = curve(score)
        around = list(zip(means, spreads, strict=True))
        low, high = tuple(m - s for m, s in around), tuple(m + s for m, s in around)
        series.append(Series(score.arm.label, tuple(map(float, spent)), tuple(means), low, high))
    last = max((one.x[-1] for one in series if one.x), default=1)
    return Chart(
        slug=f"curves-{task}",
        title=f"{task}: best RTS so far",
        x_label="candidates tried",
        y_label="best RTS so far, mean and deviation",
        series=tuple(series),
        x_range=(0, last),
        whole_x=True,
    )


def curve(score: Score) -> tuple[list[int], list[float], list[float]]:
    """Candidates spent, mean and deviation of the best RTS so far, where all finished experiments have a round."""
    spent, means, spreads = [], [], []
    for rounds in zip(*(result.rounds for result in score.results), strict=False):
        values = [r.best_so_far for r in rounds if r.best_so_far is not None]
        if values:
            spent.append(rounds[0].candidates)
            means.append(mean(values))
            spreads.append(stdev(values) if len(values) > 1 else 0.0)
    return spent, means, spreads


def build_scores_chart(task: str, scores: Sequence[Score]) -> Chart:
    """Every experiment's TS as a point, those of one number (with one seed) joined, and each arm's mean as a bar."""
    series = []
    for seed in sorted({result.index for score in scores for result in score.results}):
        found = [(x, r.ts) for x, s in enumerate(scores) for r in s.results if r.index == seed and r.ts is not None]
        if found:
            places, values = zip(*found, strict=True)
            series.append(Series(f"no. {seed + 1}", places, values, quiet=True))
    for index, score in enumerate(scores):
        values = tuple(score.values)
        series.append(Series(score.arm.label, (float(index),) * len(values), values, look="points"))
    means = tuple(score.mean for score in scores)
    series.append(Series("mean", tuple(map(float, range(len(scores)))), means, look="marks"))
    return Chart(
        slug=f"scores-{task}",
        title=f"{task}: TS of every experiment",
        x_label="method",
        y_label="TS",
        series=tuple(series),
        categories=tuple(score.arm.label for score in scores),
        names="ends",
    )
