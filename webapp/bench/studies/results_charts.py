"""The figures of a study's results: values of the arms, effects, scores over rounds."""

from __future__ import annotations

from webapp.base.charts import Chart, Series
from webapp.bench.studies.results import (
    Outcome,
    RoundCurve,
    StudyResults,
    format_equal,
    format_number,
)

JITTER = 0.16
"""Half the width over which the points of an arm are spread, as a share of the arm's place."""


def build_charts(found: StudyResults) -> list[Chart]:
    charts = []
    for outcome in found.outcomes:
        charts.append(build_arms_chart(outcome))
        if len(outcome.comparisons) > 1 and outcome.explained:
            charts.append(build_effects_chart(outcome))
        charts += [build_rounds_chart(one) for one in found.curves if one.measure == outcome.measure.slug]
    return charts + [build_rounds_chart(one) for one in found.curves if not one.measure]


def build_arms_chart(outcome: Outcome) -> Chart:
    """Every unit's value as a point, and each arm's mean with its interval; lines join the values of one unit."""
    arms = tuple(outcome.groups)
    paired = any(one.design == "paired" for one in outcome.comparisons)
    values = _join_values(outcome) if paired else [_spread_values(outcome)]
    means = [(index, outcome.means[arm]) for index, arm in enumerate(arms) if arm in outcome.means]
    summary = Series(
        "mean with 95% interval",
        tuple(index + 0.3 for index, _ in means),
        tuple(one.mean for _, one in means),
        tuple(one.interval.low if one.interval else None for _, one in means),
        tuple(one.interval.high if one.interval else None for _, one in means),
        look="points",
    )
    return Chart(
        slug=f"arms-{outcome.measure.slug}",
        title=f"{outcome.measure.title} by arm{_summarize_effect(outcome)}",
        x_label="arm",
        y_label=outcome.measure.label,
        series=(*values, summary),
        categories=arms,
        covers=outcome.measure.covers,
    )


def _spread_values(outcome: Outcome) -> Series:
    points = []
    for index, values in enumerate(outcome.groups.values()):
        count = len(values)
        for number, value in enumerate(values.values()):
            aside = 0.0 if count == 1 else JITTER * (2 * number / (count - 1) - 1)
            points.append((index - 0.1 + aside, value))
    x, y = zip(*points, strict=True)
    return Series(f"one {outcome.unit}", x, y, look="points")


def _join_values(outcome: Outcome) -> list[Series]:
    units = dict.fromkeys(unit for values in outcome.groups.values() for unit in values)
    series = []
    for unit in units:
        own = [(float(i), values[unit]) for i, values in enumerate(outcome.groups.values()) if unit in values]
        x, y = zip(*own, strict=True)
        series.append(Series(unit, x, y, quiet=True))
    return series


def _summarize_effect(outcome: Outcome) -> str:
    """The effect for the title, where there is one; several have a figure of their own."""
    if len(outcome.comparisons) != 1 or not outcome.explained:
        return ""
    (one,) = outcome.comparisons
    if one.p is None or one.interval is None:
        return ""
    low, high = format_number(one.interval.low), format_number(one.interval.high)
    difference = f"{one.second} \u2212 {one.first} = {format_number(one.difference)} [{low}, {high}]"
    return f": {difference}, p {format_equal(one.p)}"


def build_effects_chart(outcome: Outcome) -> Chart:
    """The difference of each pair of arms with its interval."""
    pairs = outcome.comparisons
    return Chart(
        slug=f"effects-{outcome.measure.slug}",
        title=f"{outcome.measure.title}: differences of means with 95% intervals",
        x_label="pair of arms",
        y_label=f"difference, {outcome.measure.label}",
        series=(
            Series(
                "difference with 95% interval",
                tuple(map(float, range(len(pairs)))),
                tuple(one.difference for one in pairs),
                tuple(one.interval.low if one.interval else None for one in pairs),
                tuple(one.interval.high if one.interval else None for one in pairs),
                look="points",
            ),
        ),
        categories=tuple(f"{one.second} \u2212 {one.first}" for one in pairs),
        covers=(0,),
        reference=0,
        sideways=True,
    )


def build_rounds_chart(curve: RoundCurve) -> Chart:
    """One line per arm over the rounds."""
    series = []
    for arm, means in curve.means.items():
        bounds = [one.interval for one in means.values()]
        series.append(
            Series(
                arm,
                tuple(map(float, means)),
                tuple(one.mean for one in means.values()),
                tuple(one.low if one else None for one in bounds),
                tuple(one.high if one else None for one in bounds),
            )
        )
    last = max((number for means in curve.means.values() for number in means), default=2)
    return Chart(
        slug=curve.slug,
        title=f"{curve.title} by arm: mean with 95% interval",
        x_label="round",
        y_label=curve.label,
        series=tuple(series),
        x_range=(1, max(2, last)),
        whole_x=True,
        covers=curve.covers,
    )
