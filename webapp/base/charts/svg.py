"""Charts as SVG, for a page and for a file. Readable in greyscale. No drawing library: a figure is a few shapes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape

from webapp.base.charts.figure import Chart
from webapp.base.charts.marks import NAME_HEIGHT, choose_spacing, draw_all, draw_sample, style_all
from webapp.base.charts.scales import Frame, choose_ticks, estimate_width, format_number
from webapp.base.charts.tables import to_columns

FONT = "system-ui, sans-serif"
LEFT, RIGHT, BOTTOM = 58, 14, 44
NARROW = 400
"""A drawing that is less wide has the names of rows and of lines above them, and cuts slanted names short."""
ROW, LINE = 44, 13
"""Heights of a row of a forest plot, and of a line of text."""
AXIS = 'class="axis" stroke="#85857f"'
LONGEST_NAME, LONGEST_SLANTED = 34, 16
"""Letters of a name beside an axis, and of a slanted one in a narrow drawing."""
WIDTH, HEIGHT = 640, 320
COLUMNS, SMALL_WIDTH, SMALL_HEIGHT = 3, 300, 190
"""The grid of small multiples, and the size of each."""


def to_svg(chart: Chart) -> str:
    """The figure as a standalone SVG document, titled, on white paper: no style sheet, no script."""
    keys, top = _draw_legend(chart, WIDTH)
    height = _compute_height(chart, WIDTH, HEIGHT + top - 30, top)
    body = "".join(_draw(chart, WIDTH, height, top))
    paper = f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    return _wrap_document(WIDTH, height, chart.title, f"{paper}{_draw_title(chart, WIDTH)}{keys}{body}")


def to_svg_grid(charts: Sequence[Chart]) -> str:
    """Small multiples in one SVG document."""
    full = (COLUMNS * SMALL_WIDTH, max(math.ceil(len(charts) / COLUMNS), 1) * SMALL_HEIGHT)
    parts = [f'<rect width="{full[0]}" height="{full[1]}" fill="#ffffff"/>']
    for i, chart in enumerate(charts):
        place = f"translate({i % COLUMNS * SMALL_WIDTH} {i // COLUMNS * SMALL_HEIGHT})"
        body = "".join(_draw(chart, SMALL_WIDTH, SMALL_HEIGHT, top=30))
        parts.append(f'<g transform="{place}">{_draw_title(chart, SMALL_WIDTH)}{body}</g>')
    return _wrap_document(full[0], full[1], "Reward components", "".join(parts))


def draw_inline(chart: Chart, width: int = 320, height: int = 190) -> str:
    """The figure for a page, whose style sheet recolours it by class and which has words of its own around it."""
    height = _compute_height(chart, width, height, top=10)
    return _wrap_document(width, height, chart.title, "".join(_draw(chart, width, height, top=10)))


def place_cursor(chart: Chart, width: int, height: int) -> dict[str, Any]:
    """Where a cursor stands at each x in an inline SVG of this size."""
    frame = _make_frame(chart, width, _compute_height(chart, width, height, top=10), top=10)
    at = [round(frame.locate(x, frame.ys[0])[0], 1) for x in to_columns(chart)[0] if x is not None]
    return {"at": at, "top": frame.top, "bottom": frame.bottom}


def draw_legend(chart: Chart) -> list[tuple[str, str]]:
    """A sample of each series as a small SVG, and its name."""
    svg = '<svg class="chart" viewBox="0 0 34 12" aria-hidden="true">{}</svg>'
    return [(svg.format(draw_sample(series, style, 2, 6)), series.name) for series, style in style_all(chart.in_legend)]


def _compute_height(chart: Chart, width: int, height: int, top: int) -> int:
    """Rows of a forest plot, slanted names, and names at the ends of lines take what they need."""
    if chart.sideways:
        return top + (ROW + _compute_row_gap(width)) * len(chart.categories) + _compute_bottom(chart, width)
    names = sum(series.quiet for series in chart.series) if chart.names == "ends" else 0
    return max(height - BOTTOM, top + NAME_HEIGHT * names) + _compute_bottom(chart, width)


def _wrap_document(width: int, height: int, title: str, body: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" font-family="{FONT}" font-size="11" fill="#4d4f54">'
        f"<title>{escape(title)}</title>{body}</svg>"
    )


def _draw_title(chart: Chart, width: int) -> str:
    words = escape(_cut(chart.title, (width - LEFT) // 6))
    return f'<text x="{LEFT}" y="17" font-size="12" font-weight="600" fill="#1c1d1f">{words}</text>'


def _draw_legend(chart: Chart, width: int) -> tuple[str, int]:
    """Samples and names under the title, in as many lines as they need; and where the plot may begin."""
    parts, x, y = [], float(LEFT), 34
    for series, style in style_all(chart.in_legend):
        if x > LEFT and x + 36 + estimate_width(series.name) > width - RIGHT:
            x, y = float(LEFT), y + 16
        parts.append(
            f'{draw_sample(series, style, x, y)}<text x="{x + 36:.0f}" y="{y + 4}">{escape(series.name)}</text>'
        )
        x += estimate_width(series.name) + 56
    return "".join(parts), y + 18 if parts else 30


def _draw(chart: Chart, width: int, height: int, top: int) -> list[str]:
    if chart.empty:
        return [f'<text x="{LEFT}" y="{height // 2}">no values yet</text>']
    frame = _make_frame(chart, width, height, top)
    return [
        *_draw_value_axis(chart, frame),
        *_draw_place_axis(chart, frame, width),
        *draw_all(chart, frame, width < NARROW),
    ]


def _make_frame(chart: Chart, width: int, height: int, top: int) -> Frame:
    left, right, bottom = LEFT, width - RIGHT, height - _compute_bottom(chart, width)
    if chart.sideways:
        names = max(estimate_width(_cut(name)) for name in chart.categories)
        left = RIGHT if _compute_row_gap(width) else 24 + math.ceil(names)
        right -= RIGHT if _compute_row_gap(width) else 0
    elif chart.names == "ends" and width >= NARROW:
        right -= 10 + math.ceil(max((estimate_width(s.name) for s in chart.series if s.quiet), default=0))
    elif not chart.categories and any(series.low for series in chart.series):
        right -= math.ceil(choose_spacing(chart) * len(chart.series) / 2)
    values = [*chart.values(), *chart.covers]
    count = max(2, (right - left) // 60 if chart.sideways else (bottom - top) // 36)
    marks = choose_ticks(min(values), max(values), min(count, 6) if chart.sideways else count, chart.whole_y)
    xs = [] if chart.categories else choose_ticks(*chart.x_range, count=6 if chart.whole_x else 5, whole=chart.whole_x)
    return Frame(
        left,
        right,
        top,
        bottom,
        xs,
        marks,
        len(chart.categories),
        chart.sideways,
        _compute_row_gap(width) * chart.sideways,
    )


def _cut(name: str, longest: int = LONGEST_NAME) -> str:
    """A long name without its middle: names that begin alike differ at their ends."""
    longest = round(
        longest * estimate_width("x" * len(name)) / max(estimate_width(name), 1)
    )  # fewer where letters are wide
    end = longest // 3
    return name if len(name) <= longest else f"{name[: longest - end - 1]}\u2026{name[-end:]}"


def _compute_row_gap(width: int) -> int:
    """Pixels above each row of a forest plot for its name; 0 where the name stands beside the row."""
    return LINE if width < NARROW else 0


def _compute_bottom(chart: Chart, width: int) -> int:
    """Pixels below the plot: numbers or names, and the lines of the label, which slanted names leave out."""
    return BOTTOM + (_compute_slant_height(chart, width) or LINE * (len(_wrap(_get_label_below(chart), width)) - 1))


def _get_label_below(chart: Chart) -> str:
    return chart.y_label if chart.sideways else chart.x_label


def _compute_slant_height(chart: Chart, width: int) -> int:
    """Pixels that slanted names take in addition; 0 if names are narrow enough to stand beside each other."""
    widest = max((estimate_width(_cut_below(name, width)) for name in chart.categories), default=0)
    fits = widest < 30 or widest + 6 < (width - LEFT - RIGHT) / len(chart.categories)
    return 0 if chart.sideways or fits else math.ceil(widest / 2) - 6


def _cut_below(name: str, width: int) -> str:
    return _cut(name, LONGEST_SLANTED if width < NARROW else LONGEST_NAME)


def _draw_value_axis(chart: Chart, frame: Frame) -> Iterator[str]:
    """Grid lines with their numbers, the label, and the reference."""
    for value in frame.ys:
        yield _draw_across(frame, value, 'class="grid" stroke="#e4e4e0"')
        x, y = frame.locate(0, value)
        if chart.sideways:
            yield _draw_text(x, frame.bottom + 15, "middle", format_number(value))
        else:
            yield _draw_text(frame.left - 6, y + 4, "end", format_number(value))
    if chart.reference is not None:
        yield _draw_across(frame, chart.reference, AXIS)
    if not chart.sideways:
        middle = (frame.top + frame.bottom) / 2
        lines = _wrap(chart.y_label, frame.bottom - frame.top)
        for x, words in zip((13,) if len(lines) == 1 else (10, 22), lines, strict=True):
            turned = f'transform="translate({x} {middle:.1f}) rotate(-90)"'
            yield f'<text {turned} text-anchor="middle">{escape(words)}</text>'


def _wrap(words: str, room: float) -> list[str]:
    """The label in one line, or, where it is longer than the axis, in two of about the same length."""
    breaks = [at for at, letter in enumerate(words) if letter == " "]
    if estimate_width(words) <= room or not breaks:
        return [words]
    at = min(breaks, key=lambda place: abs(place - len(words) / 2))
    return [words[:at], words[at + 1 :]]


def _draw_across(frame: Frame, value: float, look: str) -> str:
    x, y = frame.locate(0, value)
    if frame.sideways:
        return f'<line {look} x1="{x:.1f}" x2="{x:.1f}" y1="{frame.top}" y2="{frame.bottom}"/>'
    return f'<line {look} x1="{frame.left}" x2="{frame.right}" y1="{y:.1f}" y2="{y:.1f}"/>'


def _draw_place_axis(chart: Chart, frame: Frame, width: int) -> Iterator[str]:
    """Numbers or names of categories along the other axis, and the label below the plot."""
    slanted = _compute_slant_height(chart, width)
    if not slanted:
        yield from _draw_label(_get_label_below(chart), frame, width)
    if chart.sideways:
        for index, name in enumerate(chart.categories):
            middle = frame.locate(index, frame.ys[0])[1]
            if _compute_row_gap(width):
                yield _draw_text(frame.left, middle - frame.slot / 2 - 3, "start", _cut(name))
            else:
                yield _draw_text(frame.left - 12, middle + 4, "end", _cut(name))
        return
    numbers = [(value, format_number(value)) for value in frame.xs]
    every = 1 if slanted else math.ceil(28 / frame.slot)
    for value, name in numbers or list(enumerate(chart.categories))[::every]:
        x = frame.locate(value, frame.ys[0])[0]
        if slanted:
            turned = f"translate({x + 4:.1f} {frame.bottom + 14}) rotate(-30)"
            yield f'<text transform="{turned}" text-anchor="end">{escape(_cut_below(name, width))}</text>'
        else:
            yield _draw_text(x, frame.bottom + 15, "middle", name)
    yield _draw_across(frame, frame.ys[0], AXIS)


def _draw_label(words: str, frame: Frame, width: int) -> Iterator[str]:
    """Below the plot and its numbers, in the plot's middle as far as the drawing has room."""
    for line, part in enumerate(_wrap(words, width)):
        half = estimate_width(part) / 2
        middle = max(half, min((frame.left + frame.right) / 2, width - half))
        yield _draw_text(middle, frame.bottom + 33 + LINE * line, "middle", part)


def _draw_text(x: float, y: float, anchor: str, words: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
