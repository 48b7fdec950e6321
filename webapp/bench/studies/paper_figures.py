"""A study's figures, as SVG and PDF for a paper. Readable in greyscale."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from webapp.base.statistics.answer_quality import LEAST_FOR_QUARTERS, Bias
from webapp.bench.studies.reliability import Answers
from webapp.experiments.figures import short_metric

SIZE = (5.0, 3.0)
STYLE: dict[Any, Any] = {"svg.hashsalt": "prefine", "svg.fonttype": "none", "pdf.fonttype": 42}
"""Text stays text, and the same data gives the same file."""


def drawn(draw: Callable[[Axes], None], ending: str) -> bytes:
    """What `draw` draws, as a file with this ending."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=SIZE, layout="constrained")
        axes = figure.add_subplot()
        draw(axes)
        axes.spines[["top", "right"]].set_visible(False)
        out = io.BytesIO()
        dated = {"Date": None} if ending == "svg" else {"CreationDate": None}
        figure.savefig(out, format=ending, metadata=dated)
    return out.getvalue()


def of(said: Answers, name: str) -> Callable[[Axes], None]:
    """The figure of this name, one of answers.figure_names."""
    if name == "places" and said.best_places:
        return places(said.best_places, said.worst_places)
    if name == "seconds":
        return seconds_by_round(said.by_round)
    arm, lines = next((arm, lines) for arm, lines in said.scores.items() if name == f"scores-{arm.pk}")
    return scores_by_round(lines, f"{arm.name}: {short_metric(arm.task_info.metric or '')}")


def places(best: Bias, worst: Bias | None) -> Callable[[Axes], None]:
    """How often each place was picked, beside what chance gives."""

    def draw(axes: Axes) -> None:
        letters = [chr(ord("A") + place) for place in range(len(best.counts))]
        axes.bar([x - 0.2 for x in range(len(letters))], best.counts, 0.38, color="#3d4fc4", label="best")
        if worst:
            at = [x + 0.2 for x in range(len(worst.counts))]
            axes.bar(at, worst.counts, 0.38, color="white", edgecolor="#b5520f", hatch="///", label="worst")
        axes.plot(range(len(letters)), best.expected, "k_", markersize=24, label="expected by chance")
        axes.set_xticks(range(len(letters)), letters)
        axes.set_xlabel("place on the page")
        axes.set_ylabel("picks")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend(fontsize="small", frameon=False)

    return draw


def seconds_by_round(answers: Mapping[int, Sequence[float]]) -> Callable[[Axes], None]:
    """Every answer's seconds by round, and boxes of those rounds that have enough."""

    def draw(axes: Axes) -> None:
        rounds = sorted(answers)
        enough = [number for number in rounds if len(answers[number]) >= LEAST_FOR_QUARTERS]
        if enough:  # matplotlib refuses to draw no box
            times = [answers[number] for number in enough]
            axes.boxplot(times, positions=enough, widths=0.5, showfliers=False, manage_ticks=False)
        for number in rounds:
            axes.plot([number] * len(answers[number]), answers[number], "o", color="#3d4fc4", alpha=0.5, markersize=4)
        axes.set_xlabel("round")
        axes.set_ylabel("seconds to the answer")
        axes.set_ylim(bottom=0)
        number_rounds(axes, rounds)

    return draw


def scores_by_round(lines: Mapping[str, Sequence[float | None]], metric: str) -> Callable[[Axes], None]:
    """The hidden metric of each person's picks over the rounds: one line per experiment, and their mean."""

    def draw(axes: Axes) -> None:
        for index, (name, values) in enumerate(lines.items()):
            marker = "osD^vP*Xhd<>"[index % 12]
            numbers = range(1, len(values) + 1)
            drawn = [float("nan") if value is None else value for value in values]
            axes.plot(numbers, drawn, marker=marker, color="0.55", linewidth=1, markersize=4, label=name)
        rounds = list(zip_longest(*lines.values()))
        known = [[value for value in scores if value is not None] for scores in rounds]
        means = [fmean(scores) if scores else float("nan") for scores in known]
        axes.plot(range(1, len(rounds) + 1), means, color="#3d4fc4", linewidth=2.5, label="mean")
        axes.set_xlabel("round")
        axes.set_ylabel(metric)
        number_rounds(axes, range(1, max(len(rounds), 1) + 1))
        if len(lines) <= 10:
            axes.legend(fontsize="x-small", frameon=False)

    return draw


def number_rounds(axes: Axes, rounds: Sequence[int]) -> None:
    """Whole numbers along the axis of rounds, also where there is only one."""
    axes.set_xlim(rounds[0] - 0.5, rounds[-1] + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
