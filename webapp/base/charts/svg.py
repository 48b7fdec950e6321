"""Charts as SVG, for a page and for a file. Readable in greyscale. No drawing library: a figure is a few shapes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape

from webapp.base.charts.figure import Chart
from webapp.base.charts.marks import choose_spacing, draw_all, draw_sample, style_all
from webapp.base.charts.scales import Frame, number, text_width, ticks
from webapp.base.charts.tables import to_columns

FONT = "system-ui, sans-serif"
LEFT, RIGHT, BOTTOM = 58, 14, 44
WIDER = 1.2
"""A phone shows letters in this proportion, because the whole drawing is smaller there (static/bench/bench.css)."""
ROW = 44
"""Height of a row of a forest plot."""
AXIS = 'class="axis" stroke="#85857f"'
LONGEST_NAME = 34
WIDTH, HEIGHT = 640, 320
COLUMNS, SMALL_WIDTH, SMALL_HEIGHT = 3, 300, 190
"""Of small multiples."""


def to_svg(chart: Chart) -> str:
    """The figure as a standalone SVG document, titled, on white paper: no style sheet, no script."""
    keys, top = _legend(chart, WIDTH)
    height = _height(chart, WIDTH, HEIGHT + top - 30, top)
    body = "".join(_draw(chart, WIDTH, height, top))
    paper = f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    return _document(WIDTH, height, chart.title, f"{paper}{_title(chart, WIDTH)}{keys}{body}")


def to_svg_grid(charts: Sequence[Chart]) -> str:
    """Small multiples in one SVG document."""
    full = (COLUMNS * SMALL_WIDTH, max(math.ceil(len(charts) / COLUMNS), 1) * SMALL_HEIGHT)
    parts = [f'<rect width="{full[0]}" height="{full[1]}" fill="#ffffff"/>']
    for i, chart in enumerate(charts):
        place = f"translate({i % COLUMNS * SMALL_WIDTH} {i // COLUMNS * SMALL_HEIGHT})"
        body = "".join(_draw(chart, SMALL_WIDTH, SMALL_HEIGHT, top=30))
        parts.append(f'<g transform="{place}">{_title(chart, SMALL_WIDTH)}{body}</g>')
    return _document(full[0], full[1], "Reward components", "".join(parts))


def inline_svg(chart: Chart, width: int = 320, height: int = 190) -> str:
    """The figure for a page, whose style sheet recolours it by class and which has words of its own around it."""
    height = _height(chart, width, height, top=10)
    return _document(width, height, chart.title, "".join(_draw(chart, width, height, top=10)))


def place_cursor(chart: Chart, width: int, height: int) -> dict[str, Any]:
    """What static/bench/charts.js needs to run a cursor through an inline SVG of this size."""
    columns = to_columns(chart)
    frame = _frame(chart, width, _height(chart, width, height, top=10), top=10)
    return {
        "group": "rounds" if chart.whole_x else "training",
        "x": chart.x_label,
        "names": [series.name for series in chart.series],
        "columns": columns,
        "at": [round(frame.at(x, frame.ys[0])[0], 1) for x in columns[0] if x is not None],
        "top": frame.top,
        "bottom": frame.bottom,
    }


def legend(chart: Chart) -> list[tuple[str, str]]:
    """A sample of each series as a small SVG, and its name."""
    svg = '<svg class="chart" viewBox="0 0 34 12" aria-hidden="true">{}</svg>'
    return [(svg.format(draw_sample(series, style, 2, 6)), series.name) for series, style in style_all(chart.in_legend)]


def _height(chart: Chart, width: int, height: int, top: int) -> int:
    """Rows of a forest plot, and slanted names, take what they need."""
    return top + ROW * len(chart.categories) + BOTTOM if chart.sideways else height + _below(chart, width)


def _document(width: int, height: int, title: str, body: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" font-family="{FONT}" font-size="11" fill="#4d4f54">'
        f"<title>{escape(title)}</title>{body}</svg>"
    )


def _title(chart: Chart, width: int) -> str:
    words = escape(_cut(chart.title, (width - LEFT) // 6))
    return f'<text x="{LEFT}" y="17" font-size="12" font-weight="600" fill="#1c1d1f">{words}</text>'


def _legend(chart: Chart, width: int) -> tuple[str, int]:
    """Samples and names under the title, in as many lines as they need; and where the plot may begin."""
    parts, x, y = [], float(LEFT), 34
    for series, style in style_all(chart.in_legend):
        if x > LEFT and x + 36 + text_width(series.name) > width - RIGHT:
            x, y = float(LEFT), y + 16
        parts.append(
            f'{draw_sample(series, style, x, y)}<text x="{x + 36:.0f}" y="{y + 4}">{escape(series.name)}</text>'
        )
        x += text_width(series.name) + 56
    return "".join(parts), y + 18 if parts else 30


def _draw(chart: Chart, width: int, height: int, top: int) -> list[str]:
    if chart.empty:
        return [f'<text x="{LEFT}" y="{height // 2}">no values yet</text>']
    frame = _frame(chart, width, height, top)
    return [*_value_axis(chart, frame), *_place_axis(chart, frame, _below(chart, width) > 0), *draw_all(chart, frame)]


def _frame(chart: Chart, width: int, height: int, top: int) -> Frame:
    left, right, bottom = LEFT, width - RIGHT, height - BOTTOM
    if chart.sideways:
        left = 24 + math.ceil(WIDER * max(text_width(_cut(name)) for name in chart.categories))
    elif chart.names == "ends":
        right -= 10 + math.ceil(max((text_width(s.name) for s in chart.series if s.quiet), default=0))
    elif not chart.categories and any(series.low for series in chart.series):
        right -= math.ceil(choose_spacing(chart) * len(chart.series) / 2)
    bottom -= _below(chart, width)
    values = [*chart.values(), *chart.covers]
    marks = ticks(min(values), max(values), max(2, (bottom - top) // 36) if not chart.sideways else 6, chart.whole_y)
    xs = [] if chart.categories else ticks(*chart.x_range, count=6 if chart.whole_x else 5, whole=chart.whole_x)
    return Frame(left, right, top, bottom, xs, marks, len(chart.categories), chart.sideways)


def _cut(name: str, longest: int = LONGEST_NAME) -> str:
    """A long name without its middle: names that begin alike differ at their ends."""
    end = longest // 3
    return name if len(name) <= longest else f"{name[: longest - end - 1]}\u2026{name[-end:]}"


def _below(chart: Chart, width: int) -> int:
    """Pixels that names below the axis take in addition, because they are too wide to stand beside each other."""
    widest = max((text_width(_cut(name)) for name in chart.categories), default=0)
    fits = widest < 30 or widest + 6 < (width - LEFT - RIGHT) / len(chart.categories)
    return 0 if chart.sideways or fits else math.ceil(widest / 2) - 6


def _value_axis(chart: Chart, frame: Frame) -> Iterator[str]:
    """Grid lines with their numbers, the label, and the reference."""
    for value in frame.ys:
        yield _across(frame, value, 'class="grid" stroke="#e4e4e0"')
        x, y = frame.at(0, value)
        if chart.sideways:
            yield _text(x, frame.bottom + 15, "middle", number(value))
        else:
            yield _text(frame.left - 6, y + 4, "end", number(value))
    if chart.reference is not None:
        yield _across(frame, chart.reference, AXIS)
    if chart.sideways:
        yield _text((frame.left + frame.right) / 2, frame.bottom + 33, "middle", chart.y_label)
    else:
        middle = (frame.top + frame.bottom) / 2
        lines = _wrap(chart.y_label, frame.bottom - frame.top)
        for x, words in zip((13,) if len(lines) == 1 else (10, 22), lines, strict=True):
            turned = f'transform="translate({x} {middle:.1f}) rotate(-90)"'
            yield f'<text {turned} text-anchor="middle">{escape(words)}</text>'


def _wrap(words: str, room: float) -> list[str]:
    """The label in one line, or, where it is longer than the axis, in two of about the same length."""
    breaks = [at for at, letter in enumerate(words) if letter == " "]
    if WIDER * text_width(words) <= room or not breaks:
        return [words]
    at = min(breaks, key=lambda place: abs(place - len(words) / 2))
    return [words[:at], words[at + 1 :]]


def _across(frame: Frame, value: float, look: str) -> str:
    x, y = frame.at(0, value)
    if frame.sideways:
        return f'<line {look} x1="{x:.1f}" x2="{x:.1f}" y1="{frame.top}" y2="{frame.bottom}"/>'
    return f'<line {look} x1="{frame.left}" x2="{frame.right}" y1="{y:.1f}" y2="{y:.1f}"/>'


def _place_axis(chart: Chart, frame: Frame, slanted: bool) -> Iterator[str]:
    """Numbers or names of categories along the other axis, and its label."""
    if chart.sideways:
        for index, name in enumerate(chart.categories):
            yield _text(frame.left - 12, frame.at(index, frame.ys[0])[1] + 4, "end", _cut(name))
        return
    numbers = [(value, number(value)) for value in frame.xs]
    every = 1 if slanted else math.ceil(28 / frame.slot)
    for value, name in numbers or list(enumerate(chart.categories))[::every]:
        x = frame.at(value, frame.ys[0])[0]
        if slanted:
            turned = f"translate({x + 4:.1f} {frame.bottom + 14}) rotate(-30)"
            yield f'<text transform="{turned}" text-anchor="end">{escape(_cut(name))}</text>'
        else:
            yield _text(x, frame.bottom + 15, "middle", name)
    yield _across(frame, frame.ys[0], AXIS)
    if not slanted:
        yield _text((frame.left + frame.right) / 2, frame.bottom + 33, "middle", chart.x_label)


def _text(x: float, y: float, anchor: str, words: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
