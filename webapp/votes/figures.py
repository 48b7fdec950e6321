"""Figures of a poll: intervals as SVG, power as one of the bench's charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from webapp.base.charts import COLOURS, Chart, Series, number, ticks
from webapp.base.statistics.proportions import power
from webapp.votes.models import Poll
from webapp.votes.results import Results

RATES = (0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
DRAWN = (0.6, 0.7, 0.8, 0.9)
SIZES = (10, 15, 20, 30, 40, 50, 60, 80, 100)
WIDTH, ROW, TOP, BOTTOM, NAMES, RIGHT = 640, 44, 18, 40, 200, 24


@dataclass(frozen=True)
class Row:
    """An estimate with its interval, or with two of them."""

    name: str
    value: float
    low: float
    high: float
    second: tuple[float, float] | None = None


def preferences(results: Results) -> tuple[str, list[Row], float, tuple[float, float]]:
    """The arguments of `forest` for the share of each pair's first arm: Clopper-Pearson, and Bayesian below it."""
    rows = [
        Row(
            f"{r.pair.first_arm} over {r.pair.second_arm}",
            r.preference.rate if r.preference.rate is not None else 0.5,
            r.preference.exact.low,
            r.preference.exact.high,
            (r.preference.credible.low, r.preference.credible.high),
        )
        for r in results.pairs
    ]
    return "share of votes (line: Clopper-Pearson, dashes: Bayesian)", rows, 0.5, (0.0, 1.0)


def arms(results: Results) -> tuple[str, list[Row], float, tuple[float, float]]:
    """The arguments of `forest` for Bradley-Terry strengths."""
    rows = [Row(arm, rating.value, rating.low, rating.high) for arm, rating in results.ratings]
    low, high = min(row.low for row in rows), max(row.high for row in rows)
    return "Bradley-Terry strength (logits), 95% intervals", rows, 0.0, (low, high)


def forest(x_label: str, rows: Sequence[Row], reference: float, span: tuple[float, float]) -> str:
    """A forest plot as a standalone SVG document: a row for each estimate, a line at the reference."""
    marks = ticks(*span, count=6)
    height = TOP + ROW * len(rows) + BOTTOM
    bottom = height - BOTTOM

    def x(value: float) -> float:
        return NAMES + (value - marks[0]) / (marks[-1] - marks[0]) * (WIDTH - NAMES - RIGHT)

    parts = [f'<rect class="paper" width="{WIDTH}" height="{height}" fill="#ffffff"/>']
    for mark in marks:
        parts.append(_line("grid", x(mark), TOP, x(mark), bottom, "#e4e4e0"))
        parts.append(f'<text x="{x(mark):.1f}" y="{bottom + 16}" text-anchor="middle">{number(mark)}</text>')
    parts.append(_line("axis", x(reference), TOP - 8, x(reference), bottom, "#85857f"))
    for index, row in enumerate(rows):
        parts += _row(row, TOP + ROW * (index + 0.5), x)
    middle = (NAMES + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{bottom + 33}" text-anchor="middle">{escape(x_label)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" font-family="system-ui, sans-serif" font-size="12" fill="#4d4f54">'
        f"<title>{escape(x_label)}</title>{''.join(parts)}</svg>"
    )


def _row(row: Row, y: float, x: Callable[[float], float]) -> list[str]:
    said = f"{row.name}: {number(row.value)}, {number(row.low)} to {number(row.high)}"
    parts = [
        f'<text x="{NAMES - 12}" y="{y + 4:.1f}" text-anchor="end">{escape(row.name[:34])}</text>',
        _line("s1", x(row.low), y, x(row.high), y, COLOURS[0], 2),
        f'<circle class="m1" cx="{x(row.value):.1f}" cy="{y:.1f}" r="5" fill="{COLOURS[0]}">'
        f"<title>{escape(said)}</title></circle>",
    ]
    if row.second:
        low, high = row.second
        parts.append(_line("s2", x(low), y + 11, x(high), y + 11, COLOURS[1], 2, "6 4"))
    return parts


def _line(name: str, x1: float, y1: float, x2: float, y2: float, colour: str, width: int = 1, dash: str = "") -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line class="{name}" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width}"{dashed}/>'
    )


def first_alpha(poll: Poll, pairs: int) -> float:
    """The level that the smallest of several p values must reach: what the power is computed for."""
    return poll.alpha / max(1, pairs) if poll.correction != Poll.Correction.NONE else poll.alpha


def power_table(poll: Poll, pairs: int) -> list[tuple[int, list[float]]]:
    """(N, power at each of RATES), with the poll's own N among them."""
    alpha = first_alpha(poll, pairs)
    return [(n, [power(n, rate, alpha) for rate in RATES]) for n in sorted({*SIZES, poll.evaluators_wanted})]


def power_chart(table: Sequence[tuple[int, Sequence[float]]]) -> Chart:
    sizes = tuple(float(n) for n, _ in table)
    series = tuple(
        Series(f"{100 * rate:.0f}% prefer it", sizes, tuple(row[RATES.index(rate)] for _, row in table))
        for rate in DRAWN
    )
    return Chart("power", "Power", "evaluators", "probability of a significant result", series, (0, max(sizes)), True)
