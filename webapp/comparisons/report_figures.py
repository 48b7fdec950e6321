"""The figures of a comparison as SVG: learning curves by candidates spent, and the task scores."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from webapp.comparisons import csv_tables
from webapp.comparisons.experiment_results import Score

MARKERS = "osD^vP*Xhd<>"
SIZE = (7.0, 4.2)


def draw(task: str, scores: Sequence[Score], folder: Path) -> list[str]:
    """The file names of this task's figures; none before an experiment has finished."""
    drawn = [score for score in scores if score.values]
    if not drawn:
        return []
    names = [f"curves-{task}.svg", f"scores-{task}.svg"]
    for name, what in zip(names, (_curves, _scores), strict=True):
        figure = Figure(figsize=SIZE, layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        what(axes, drawn)
        axes.set_title(task)
        axes.spines[["top", "right"]].set_visible(False)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
        csv_tables.replace_file(folder / name, text.getvalue())
    return names


def _curves(axes: Axes, scores: Sequence[Score]) -> None:
    """Best RTS so far over the candidates trained: mean and deviation, the arms side by side at each round."""
    apart = 0.012 * max((curve(score)[0][-1] for score in scores if curve(score)[0]), default=0)
    for index, score in enumerate(scores):
        spent, means, spreads = curve(score)
        beside = [x + (index - (len(scores) - 1) / 2) * apart for x in spent]
        look: dict[str, Any] = {"marker": MARKERS[index % len(MARKERS)], "color": f"C{index % 10}", "markersize": 5}
        axes.errorbar(beside, means, spreads, elinewidth=0.7, linewidth=1.3, label=score.arm.label, **look)
    axes.set_xlabel("candidates tried")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_ylabel("best RTS so far, mean and deviation")
    axes.figure.legend(loc="outside right upper", fontsize="small")


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


def _scores(axes: Axes, scores: Sequence[Score]) -> None:
    """Every experiment's TS as a point, those of one number (with one seed) joined, and each arm's mean as a bar."""
    for seed in sorted({result.index for score in scores for result in score.results}):
        found = [(x, r.ts) for x, s in enumerate(scores) for r in s.results if r.index == seed and r.ts is not None]
        if found:
            places, values = zip(*found, strict=True)
            axes.plot(places, values, color="0.8", linewidth=0.8, zorder=1)
            axes.annotate(f"no. {seed + 1}", found[-1], (20, -3), textcoords="offset points", fontsize="x-small")
    for index, score in enumerate(scores):
        colour = f"C{index % 10}"
        axes.plot([index] * len(score.values), score.values, "o", color=colour, alpha=0.8)
        axes.hlines(mean(score.values), index - 0.3, index + 0.3, color=colour)
    axes.set_xticks(range(len(scores)), [s.arm.label for s in scores], rotation=30, ha="right", fontsize="small")
    axes.set_ylabel("TS")
