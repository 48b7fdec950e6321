"""Figures as data, and that data as SVG, CSV or JSON for the browser's charts. Readable in greyscale: every series
has its own dash and marker. No drawing library on the server: a figure is a few polylines."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

COLOURS = ("#3d4fc4", "#b5520f", "#0a6b4a", "#8a2f74", "#5b6067", "#8a6d00")
DASHES = ("", "6 4", "2 3", "9 3 2 3", "12 4", "1 4")
MARKERS = ("circle", "square", "triangle", "diamond", "cross", "ring")
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 30, 44


@dataclass(frozen=True)
class Series:
    name: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    """None where there is no value: the line breaks."""


@dataclass(frozen=True)
class Chart:
    """A figure. Labels carry units."""

    slug: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    whole_x: bool = False
    """Ticks on whole numbers only, as for rounds."""

    @property
    def empty(self) -> bool:
        return not any(value is not None for series in self.series for value in series.y)


def over_training(name: str, values: Sequence[float | None], intervals: int = 0) -> Series:
    """Interval means over a training run: interval i of n ends at i/n of the budget."""
    intervals = max(intervals, len(values))
    return Series(name, tuple(100 * (i + 1) / intervals for i in range(len(values))), tuple(map(finite, values)))


def component_charts(trace: Mapping[str, Mapping[str, Any]], complete: bool = True) -> list[Chart]:
    """One small chart per reward component, all over the same x: the total, the components, the episode length.

    A run that was not completed has fewer than its ten intervals.
    """
    names = sorted(trace, key=lambda name: (name != "total", name == "episode_length", name))
    return [
        Chart(
            slug=f"component-{name}",
            title=name.replace("_", " "),
            x_label="training (%)",
            y_label="episode length (steps)" if name == "episode_length" else "reward per step",
            series=(over_training(name, trace[name].get("samples", []), 0 if complete else 10),),
        )
        for name in names
    ]


def metric_chart(metric: str, metric_trace: Mapping[str, Any], complete: bool = True) -> Chart:
    """The hidden metric over training, all of its up to fifty intervals."""
    values = metric_trace.get("all") or metric_trace.get("samples") or []
    series = over_training("hidden metric", values, 0 if complete else 50)
    return Chart("metric", "Hidden metric", "training (%)", metric, (series,))


def rounds_chart(metric: str, rounds: Sequence[tuple[int, Sequence[float]]]) -> Chart:
    """Reward task score of each round, (number, scores of its candidates): best, mean, and best so far."""
    numbers = tuple(float(number) for number, scores in rounds if scores)
    scored = [scores for _, scores in rounds if scores]
    best = tuple(max(scores) for scores in scored)
    series = (
        Series("best of the round", numbers, best),
        Series("mean of the round", numbers, tuple(sum(scores) / len(scores) for scores in scored)),
        Series("best so far", numbers, tuple(max(best[: i + 1]) for i in range(len(best)))),
    )
    return Chart("rounds", "Reward task score by round", "round", f"RTS: {metric}", series, whole_x=True)


def finite(value: float | None) -> float | None:
    """The value, or None where JSON or a bad run left something that cannot be drawn."""
    return float(value) if value is not None and math.isfinite(value) else None


def to_json(chart: Chart) -> dict[str, Any]:
    """What static/bench/charts.js draws: one x, aligned y columns."""
    xs = sorted({x for series in chart.series for x in series.x})
    columns = [dict(zip(series.x, series.y, strict=True)) for series in chart.series]
    return {
        "title": chart.title,
        "x": chart.x_label,
        "y": chart.y_label,
        "wholeX": chart.whole_x,
        "names": [series.name for series in chart.series],
        "data": [xs, *([column.get(x) for x in xs] for column in columns)],
    }


def to_csv(charts: Sequence[Chart]) -> str:
    """Every point of the charts: one row each, so that any program can pivot it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["chart", "series", "x_label", "x", "y_label", "y"])
    for chart in charts:
        for series in chart.series:
            for x, y in zip(series.x, series.y, strict=True):
                writer.writerow([chart.title, series.name, chart.x_label, x, chart.y_label, "" if y is None else y])
    return out.getvalue()


def ticks(low: float, high: float, count: int = 5, whole: bool = False) -> list[float]:
    """Round numbers that cover [low, high]: steps of 1, 2 or 5 times a power of ten."""
    if not high > low:
        low, high = low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2
    rough = (high - low) / max(count - 1, 1)
    power = 10 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
    step = max(1.0, round(step)) if whole else step
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 10) for i in range(first, last + 1)]


def number(value: float) -> str:
    """A tick or table value: short, never in exponents where three digits do."""
    if value == 0:
        return "0"
    return f"{value:.4g}" if 1e-3 <= abs(value) < 1e5 else f"{value:.1e}"


def to_svg(chart: Chart, width: int = 640, height: int = 300, legend: bool = True) -> str:
    """The figure as a standalone SVG document: white paper, no style sheet, no script."""
    body = "".join(_figure(chart, width, height, legend))
    return _document(width, height, chart.title, f'<rect width="{width}" height="{height}" fill="#ffffff"/>{body}')


def to_svg_grid(charts: Sequence[Chart], columns: int = 3, width: int = 300, height: int = 190) -> str:
    """Small multiples in one SVG document."""
    rows = math.ceil(len(charts) / columns)
    full = (columns * width, max(rows, 1) * height)
    parts = [f'<rect width="{full[0]}" height="{full[1]}" fill="#ffffff"/>']
    for i, chart in enumerate(charts):
        place = f"translate({i % columns * width} {i // columns * height})"
        parts.append(f'<g transform="{place}">{"".join(_figure(chart, width, height, False))}</g>')
    return _document(full[0], full[1], "Reward components", "".join(parts))


def inline_svg(chart: Chart, width: int = 320, height: int = 190, legend: bool = False) -> str:
    """The figure for a page, whose style sheet recolours it by class."""
    return _document(width, height, chart.title, "".join(_figure(chart, width, height, legend)))


def _document(width: int, height: int, title: str, body: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" font-family="system-ui, sans-serif" font-size="11" fill="#4d4f54">'
        f"<title>{escape(title)}</title>{body}</svg>"
    )


@dataclass(frozen=True)
class _Frame:
    """The plot area and its two scales, from values to pixels."""

    width: int
    height: int
    xs: list[float]
    ys: list[float]

    def x(self, value: float) -> float:
        return LEFT + (value - self.xs[0]) / (self.xs[-1] - self.xs[0]) * (self.width - LEFT - RIGHT)

    def y(self, value: float) -> float:
        bottom = self.height - BOTTOM
        return bottom - (value - self.ys[0]) / (self.ys[-1] - self.ys[0]) * (bottom - TOP)


def _figure(chart: Chart, width: int, height: int, legend: bool) -> list[str]:
    title = f'<text x="{LEFT}" y="17" class="title" font-size="12" font-weight="600" fill="#1c1d1f">'
    parts = [f"{title}{escape(chart.title)}</text>"]
    if chart.empty:
        return [*parts, f'<text x="{LEFT}" y="{height // 2}">no values yet</text>']
    ys = [y for series in chart.series for y in series.y if y is not None]
    xs = [x for series in chart.series for x in series.x]
    count = max(2, (height - TOP - BOTTOM) // 36)
    frame = _Frame(width, height, _x_ticks(xs, chart.whole_x), ticks(min(ys), max(ys), count))
    parts += _axes(chart, frame)
    for i, series in enumerate(chart.series):
        parts += _line(series, frame, i)
    if legend:
        parts += _legend(chart, frame)
    return parts


def _x_ticks(xs: list[float], whole: bool) -> list[float]:
    if whole:
        return ticks(min(xs), max(xs), 6, whole=True)
    return [0.0, 25.0, 50.0, 75.0, 100.0]


def _axes(chart: Chart, frame: _Frame) -> list[str]:
    bottom, right = frame.height - BOTTOM, frame.width - RIGHT
    parts = []
    for value in frame.ys:
        y = frame.y(value)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e4e4e0"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(value)}</text>')
    for value in frame.xs:
        parts.append(f'<text x="{frame.x(value):.1f}" y="{bottom + 15}" text-anchor="middle">{number(value)}</text>')
    middle = (TOP + bottom) / 2
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}" stroke="#85857f"/>')
    parts.append(
        f'<text x="{(LEFT + right) / 2}" y="{bottom + 33}" text-anchor="middle">{escape(chart.x_label)}</text>'
    )
    label = escape(chart.y_label)
    parts.append(f'<text transform="translate(13 {middle}) rotate(-90)" text-anchor="middle">{label}</text>')
    return parts


def _line(series: Series, frame: _Frame, index: int) -> list[str]:
    colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
    points = [(x, y) for x, y in zip(series.x, series.y, strict=True)]
    parts = []
    for run in _runs(points):
        path = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in run)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(
            f'<polyline class="s{index + 1}" points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashed}/>'
        )
        if len(points) <= 24:
            parts += [_marker(frame.x(x), frame.y(y), index, f"{series.name}: {number(y)}") for x, y in run]
    return parts


def _runs(points: Sequence[tuple[float, float | None]]) -> list[list[tuple[float, float]]]:
    """The points, broken where there is no value."""
    runs: list[list[tuple[float, float]]] = [[]]
    for x, y in points:
        if y is None:
            runs.append([])
        else:
            runs[-1].append((x, y))
    return [run for run in runs if run]


def _marker(x: float, y: float, index: int, title: str) -> str:
    colour, kind = COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)]
    shapes = {
        "circle": f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.8"',
        "ring": f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill-opacity="0.15"',
        "square": f'<rect x="{x - 2.8:.1f}" y="{y - 2.8:.1f}" width="5.6" height="5.6"',
        "triangle": f'<path d="M{x:.1f} {y - 3.6:.1f}l3.4 6h-6.8z"',
        "diamond": f'<path d="M{x:.1f} {y - 3.8:.1f}l3.8 3.8l-3.8 3.8l-3.8 -3.8z"',
        "cross": f'<path d="M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6" fill-opacity="0"',
    }
    tip = f"<title>{escape(title)}</title>"
    return f'{shapes[kind]} class="m{index + 1}" fill="{colour}" stroke="{colour}">{tip}</{_tag(shapes[kind])}>'


def _tag(shape: str) -> str:
    return shape[1 : shape.index(" ")]


def _legend(chart: Chart, frame: _Frame) -> list[str]:
    x, parts = float(frame.width - RIGHT), []
    for i, series in reversed(list(enumerate(chart.series))):
        x -= 7 * len(series.name) + 40
        dash, colour = DASHES[i % len(DASHES)], COLOURS[i % len(COLOURS)]
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(
            f'<line class="s{i + 1}" x1="{x:.0f}" x2="{x + 26:.0f}" y1="13" y2="13" stroke="{colour}" '
            f'stroke-width="2"{dashed}/>{_marker(x + 13, 13, i, series.name)}'
            f'<text x="{x + 32:.0f}" y="17">{escape(series.name)}</text>'
        )
    return parts
