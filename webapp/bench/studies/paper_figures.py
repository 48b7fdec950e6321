"""A study's figures, for its page and for a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from statistics import fmean

from webapp.base.charts import Chart, Series, drop_infinite
from webapp.base.statistics.answer_quality import LEAST_FOR_QUARTERS, Bias, summarize_times
from webapp.bench.studies.reliability import Answers
from webapp.experiments.figures import shorten_metric
from webapp.studies.models import Arm


def build_charts(found: Answers) -> list[Chart]:
    """Every figure that there is data for."""
    charts = []
    if found.best_places:
        charts.append(build_places_chart(found.best_places, found.worst_places))
    if found.by_round:
        charts.append(build_seconds_chart(found.by_round))
    return [*charts, *(build_picks_chart(arm, lines) for arm, lines in found.scores.items())]


def build_places_chart(best: Bias, worst: Bias | None) -> Chart:
    """How often each place was picked, beside what chance gives."""
    letters = tuple(chr(ord("A") + place) for place in range(len(best.counts)))
    picked = [("best", best.counts), *([("worst", worst.counts)] if worst else [])]
    bars = [Series(name, tuple(map(float, range(len(counts)))), counts, look="bars") for name, counts in picked]
    chance = Series("expected by chance", tuple(map(float, range(len(letters)))), best.expected, look="marks")
    return Chart(
        slug="places",
        title="How often each place on the page was picked",
        x_label="place on the page",
        y_label="picks",
        series=(*bars, chance),
        whole_y=True,
        categories=letters,
        covers=(0,),
    )


def build_seconds_chart(answers: Mapping[int, Sequence[float]]) -> Chart:
    """Every answer's seconds by round, and boxes of those rounds that have enough."""
    rounds = range(min(answers), max(answers) + 1)
    points = [(float(index), value) for index, number in enumerate(rounds) for value in answers.get(number, ())]
    x, seconds = zip(*points, strict=True)
    spread = [(index, summarize_times(answers.get(number, ()))) for index, number in enumerate(rounds)]
    boxes = [(float(index), one, one.quarters) for index, one in spread if one and one.quarters]
    series = [Series("answer", x, seconds, look="points")]
    if boxes:
        places, spreads, quarters = zip(*boxes, strict=True)
        low, high = zip(*quarters, strict=True)
        series.append(
            Series("median and quartiles", places, tuple(one.median for one in spreads), low, high, look="boxes")
        )
    return Chart(
        slug="seconds",
        title=f"Seconds to the answer by round: each answer; median and quartiles of {LEAST_FOR_QUARTERS} or more",
        x_label="round",
        y_label="seconds to the answer",
        series=tuple(series),
        categories=tuple(map(str, rounds)),
        covers=(0,),
    )


def build_picks_chart(arm: Arm, lines: Mapping[str, Sequence[float | None]]) -> Chart:
    """The hidden metric of each person's picks over the rounds: one line per experiment, and their mean."""
    rounds = [[value for value in scores if value is not None] for scores in zip_longest(*lines.values())]
    numbers = tuple(map(float, range(len(rounds))))
    people = [
        Series(name, numbers[: len(values)], tuple(map(drop_infinite, values)), quiet=True)
        for name, values in lines.items()
    ]
    mean = Series("mean", numbers, tuple(fmean(scores) if scores else None for scores in rounds))
    return Chart(
        slug=f"scores-{arm.pk}",
        title=f"Arm {arm.name}: hidden metric (RTS) of the pick of each round, and the mean",
        x_label="round",
        y_label=shorten_metric(arm.task_info.metric or ""),
        series=(*people, mean),
        categories=tuple(str(number + 1) for number in range(len(rounds))),
    )
