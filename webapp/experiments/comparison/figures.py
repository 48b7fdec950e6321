"""The figures of a comparison as SVG: learning curves by candidates spent, and the task scores."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev

from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from webapp.experiments.comparison import tables
from webapp.experiments.comparison.gather import Score

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
        tables.replace(folder / name, text.getvalue())
    return names


def _curves(axes: Axes, scores: Sequence[Score]) -> None:
    """Best RTS so far over the candidates trained: mean, and a band of one deviation."""
    for index, score in enumerate(scores):
        spent, means, spreads = curve(score)
        colour = f"C{index % 10}"
        axes.plot(spent, means, marker=MARKERS[index % len(MARKERS)], color=colour, label=score.arm.label)
        below = [m - s for m, s in zip(means, spreads, strict=True)]
        above = [m + s for m, s in zip(means, spreads, strict=True)]
        axes.fill_between(spent, below, above, color=colour, alpha=0.12, linewidth=0)
    axes.set_xlabel("candidates tried")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_ylabel("best RTS so far")
    axes.legend(fontsize="small")


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
    """Every experiment's TS as a point, their mean as a line."""
    for index, score in enumerate(scores):
        colour = f"C{index % 10}"
        axes.plot([index] * len(score.values), score.values, "o", color=colour, alpha=0.7)
        axes.hlines(mean(score.values), index - 0.3, index + 0.3, color=colour)
    axes.set_xticks(range(len(scores)), [s.arm.label for s in scores], rotation=30, ha="right", fontsize="small")
    axes.set_ylabel("TS")
