"""Figures as data, and that data as SVG, CSV or JSON for the browser's charts. Readable in greyscale: every series
has its own dash and marker. No drawing library on the server: a figure is a few polylines."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

COLOURS = ("#3d4fc4", "#b5520f", "#0a6b4a", "#8a2f74", "#5b6067", "#8a6d00")
DASHES = ("", "6 4", "2 3", "9 3 2 3", "12 4", "1 4")
MARKERS = ("circle", "square", "triangle", "diamond", "cross", "ring")
LEFT, RIGHT, BOTTOM = 58, 14, 44


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
    x_range: tuple[float, float] = (0, 100)
    whole_x: bool = False
    """Ticks on whole numbers only, as for rounds."""

    @property
    def empty(self) -> bool:
        return not any(value is not None for series in self.series for value in series.y)


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
        "xRange": chart.x_range,
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
    """A tick or table value: four digits, in exponents only what is tiny or huge."""
    size = abs(value)
    if value == 0 or 1e3 <= size < 1e5:
        return f"{value:.0f}"
    return f"{value:.4g}" if 1e-3 <= size < 1e3 else f"{value:.1e}"


def to_svg(chart: Chart, width: int = 640, height: int = 320) -> str:
    """The figure as a standalone SVG document, titled, on white paper: no style sheet, no script."""
    keys = "".join(_legend(chart, width)) if len(chart.series) > 1 else ""
    body = "".join(_figure(chart, width, height, top=52 if keys else 30))
    paper = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return _document(width, height, chart.title, f"{paper}{_title(chart)}{keys}{body}")


def to_svg_grid(charts: Sequence[Chart], columns: int = 3, width: int = 300, height: int = 190) -> str:
    """Small multiples in one SVG document."""
    full = (columns * width, max(math.ceil(len(charts) / columns), 1) * height)
    parts = [f'<rect width="{full[0]}" height="{full[1]}" fill="#ffffff"/>']
    for i, chart in enumerate(charts):
        place = f"translate({i % columns * width} {i // columns * height})"
        body = "".join(_figure(chart, width, height, top=30))
        parts.append(f'<g transform="{place}">{_title(chart)}{body}</g>')
    return _document(full[0], full[1], "Reward components", "".join(parts))


def inline_svg(chart: Chart, width: int = 320, height: int = 190) -> str:
    """The figure for a page, whose style sheet recolours it by class and which has words of its own around it."""
    return _document(width, height, chart.title, "".join(_figure(chart, width, height, top=10)))


def legend(chart: Chart) -> list[tuple[str, str]]:
    """Line, dash and marker of each series as a small SVG, and its name; empty for a single series."""
    if len(chart.series) < 2:
        return []
    samples = [_sample(2, 6, i, series.name) for i, series in enumerate(chart.series)]
    svg = '<svg class="chart" viewBox="0 0 34 12" aria-hidden="true">{}</svg>'
    return [(svg.format(sample), series.name) for sample, series in zip(samples, chart.series, strict=True)]


def _document(width: int, height: int, title: str, body: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" font-family="system-ui, sans-serif" font-size="11" fill="#4d4f54">'
        f"<title>{escape(title)}</title>{body}</svg>"
    )


def _title(chart: Chart) -> str:
    return f'<text x="{LEFT}" y="17" font-size="12" font-weight="600" fill="#1c1d1f">{escape(chart.title)}</text>'


@dataclass(frozen=True)
class _Frame:
    """The plot area and its two scales, from values to pixels."""

    width: int
    height: int
    top: int
    xs: list[float]
    ys: list[float]

    def x(self, value: float) -> float:
        return LEFT + (value - self.xs[0]) / (self.xs[-1] - self.xs[0]) * (self.width - LEFT - RIGHT)

    def y(self, value: float) -> float:
        bottom = self.height - BOTTOM
        return bottom - (value - self.ys[0]) / (self.ys[-1] - self.ys[0]) * (bottom - self.top)


def _figure(chart: Chart, width: int, height: int, top: int) -> list[str]:
    if chart.empty:
        return [f'<text x="{LEFT}" y="{height // 2}">no values yet</text>']
    ys = [y for series in chart.series for y in series.y if y is not None]
    count = max(2, (height - top - BOTTOM) // 36)
    frame = _Frame(width, height, top, _x_ticks(chart), ticks(min(ys), max(ys), count))
    lines = (part for i, series in enumerate(chart.series) for part in _line(series, frame, i))
    return [*_axes(chart, frame), *lines]


def _x_ticks(chart: Chart) -> list[float]:
    return ticks(*chart.x_range, count=6 if chart.whole_x else 5, whole=chart.whole_x)


def _axes(chart: Chart, frame: _Frame) -> list[str]:
    bottom, right = frame.height - BOTTOM, frame.width - RIGHT
    parts = []
    for value in frame.ys:
        y = frame.y(value)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e4e4e0"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(value)}</text>')
    for value in frame.xs:
        parts.append(f'<text x="{frame.x(value):.1f}" y="{bottom + 15}" text-anchor="middle">{number(value)}</text>')
    middle = (frame.top + bottom) / 2
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


def _legend(chart: Chart, width: int) -> list[str]:
    """One line of samples and names under the title."""
    parts, x = [], float(LEFT)
    for i, series in enumerate(chart.series):
        parts.append(f'{_sample(x, 34, i, series.name)}<text x="{x + 36:.0f}" y="38">{escape(series.name)}</text>')
        x += 6.2 * len(series.name) + 56
    return parts


def _sample(x: float, y: float, index: int, name: str) -> str:
    """A short piece of a series' line with its marker."""
    dash, colour = DASHES[index % len(DASHES)], COLOURS[index % len(COLOURS)]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    line = f'x1="{x:.0f}" x2="{x + 30:.0f}" y1="{y:.0f}" y2="{y:.0f}" stroke="{colour}" stroke-width="2"{dashed}'
    return f'<line class="s{index + 1}" {line}/>{_marker(x + 15, y, index, name)}'
