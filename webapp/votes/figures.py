"""Figures of a poll: preferences and strengths with their intervals, and the power of its test."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.base.charts import Chart, Series
from webapp.base.paper_table import Cell, Table
from webapp.base.statistics.proportions import compute_power
from webapp.votes.models import Poll
from webapp.votes.poll_results import PairResult, Results
from webapp.votes.pooling import METHOD

RATES = (0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
DRAWN = (0.6, 0.7, 0.8, 0.9)
SIZES = (10, 15, 20, 30, 40, 50, 60, 80, 100)


def build_charts(results: Results) -> list[Chart]:
    """The figures of the results; strengths only where there are more than two arms."""
    return [build_preferences_chart(results), *([build_arms_chart(results)] if results.ratings else [])]


def build_preferences_chart(results: Results) -> Chart:
    """A forest plot: the share of each pair's first arm with two intervals, and below them the pooled shares."""
    found = [one.preference for one in results.pairs]
    rows = tuple(map(float, range(len(found))))
    exact = Series(
        name="share of votes, Clopper-Pearson",
        x=rows,
        y=tuple(0.5 if one.rate is None else one.rate for one in found),
        low=tuple(one.exact.low for one in found),
        high=tuple(one.exact.high for one in found),
        look="points",
    )
    bayesian = Series(
        name="posterior mean, Bayesian",
        x=rows,
        y=tuple(one.mean for one in found),
        low=tuple(one.credible.low for one in found),
        high=tuple(one.credible.high for one in found),
        look="points",
    )
    pooled = results.pooled
    over_all = Series(
        name="pooled, crossed evaluators and pairs",
        x=tuple(float(len(found) + place) for place in range(len(pooled))),
        y=tuple(one.others.share for one in pooled),
        low=tuple(one.others.interval.low for one in pooled),
        high=tuple(one.others.interval.high for one in pooled),
        look="points",
    )
    return Chart(
        slug="preferences",
        title="Preferences",
        x_label="pair",
        y_label="share of votes for the first",
        series=(exact, bayesian, *([over_all] if pooled else [])),
        categories=(*(_label_pair(one) for one in results.pairs), *(one.name for one in pooled)),
        covers=(0, 1),
        reference=0.5,
        sideways=True,
    )


def build_table(results: Results, level: float) -> Table:
    """All pairs and the pooled rows, for a paper."""
    rows: list[tuple[Cell, ...]] = []
    for one in results.pairs:
        exact = one.preference.exact
        counts = (one.preference.first, one.preference.second, one.equal, one.preference.rate)
        rows.append((one.title, *counts, exact.low, exact.high, one.preference.p, one.adjusted))
    for all_of in results.pooled:
        interval = all_of.others.interval
        counts = (all_of.first, all_of.second, all_of.equal, all_of.others.share)
        rows.append((all_of.name, *counts, interval.low, interval.high, all_of.others.p, None))
    columns = ("pair", "first", "second", "no difference", "share of first", "low", "high", "p", "p, corrected")
    note = f"Intervals at {100 * level:g}%: Clopper-Pearson for each pair"
    note += f"; for all pairs {METHOD}." if results.pooled else "."
    return Table("results", "Preferences", columns, tuple(rows), f"{results.counted} evaluators. {note}")


def _label_pair(result: PairResult) -> str:
    pair = result.pair
    return f"{pair.first_arm} over {pair.second_arm}" if result.name == pair.arms else result.title


def build_arms_chart(results: Results) -> Chart:
    """Bradley-Terry strengths."""
    arms = [arm for arm, _ in results.ratings]
    ratings = [rating for _, rating in results.ratings]
    strengths = Series(
        name="strength",
        x=tuple(map(float, range(len(arms)))),
        y=tuple(rating.value for rating in ratings),
        low=tuple(rating.low for rating in ratings),
        high=tuple(rating.high for rating in ratings),
        look="points",
    )
    return Chart(
        slug="arms",
        title="Strength of each arm",
        x_label="arm",
        y_label="Bradley-Terry strength (logits), 95% intervals",
        series=(strengths,),
        categories=tuple(arms),
        covers=(0,),
        reference=0,
        sideways=True,
    )


def compute_first_alpha(poll: Poll, pairs: int) -> float:
    """The level that the smallest of several p values must reach: what the power is computed for."""
    return poll.alpha / max(1, pairs) if poll.correction != Poll.Correction.NONE else poll.alpha


def compute_power_table(poll: Poll, pairs: int) -> list[tuple[int, list[float]]]:
    """(N, power at each of RATES), with the poll's own N among them."""
    alpha = compute_first_alpha(poll, pairs)
    return [(n, [compute_power(n, rate, alpha) for rate in RATES]) for n in sorted({*SIZES, poll.evaluators_wanted})]


def make_power_chart(table: Sequence[tuple[int, Sequence[float]]]) -> Chart:
    sizes = tuple(float(n) for n, _ in table)
    series = tuple(
        Series(f"{100 * rate:.0f}% prefer it", sizes, tuple(row[RATES.index(rate)] for _, row in table))
        for rate in DRAWN
    )
    return Chart("power", "Power", "evaluators", "probability of a significant result", series, (0, max(sizes)), True)
