"""What stands at the points of a series, as SVG elements: each series has its own colour, dash and marker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape

from webapp.base.charts.figure import Chart, Series
from webapp.base.charts.scales import Frame, format_number

COLOURS = ("#3d4fc4", "#b5520f", "#0a6b4a", "#8a2f74", "#5b6067", "#8a6d00")
DASHES = ("", "6 4", "2 3", "9 3 2 3", "12 4", "1 4")
MARKERS = ("circle", "square", "triangle", "diamond", "cross", "ring")
INK, GREY = "#1c1d1f", "#a3a39d"
MANY = 24
"""A line of more points has no markers."""
NAME_HEIGHT = 12
"""Pixels that the name at the end of a line takes."""


@dataclass(frozen=True)
class Style:
    """How a series is told from the others, also without colour. A page's style sheet colours by class."""

    suffix: str
    colour: str
    dash: str = ""
    marker: str = "circle"
    width: float = 2
    hatched: bool = False

    def stroke(self) -> str:
        dash = f' stroke-dasharray="{self.dash}"' if self.dash else ""
        return f'class="s{self.suffix}" fill="none" stroke="{self.colour}" stroke-width="{self.width:g}"{dash}'

    def stroke_thin(self) -> str:
        return replace(self, dash="", width=1).stroke()

    def fill(self) -> str:
        return f'class="m{self.suffix}" fill="{self.colour}" stroke="{self.colour}"'


def style_all(series: Sequence[Series]) -> list[tuple[Series, Style]]:
    """Each with its style. What is quiet or in ink takes no colour from the others."""
    styled, quiet, coloured = [], 0, 0
    for one in series:
        if one.quiet:
            styled.append((one, Style("-quiet", GREY, "", MARKERS[quiet % 6], 1)))
            quiet += 1
        elif one.look in ("boxes", "marks"):
            styled.append((one, Style("-ink", INK, width=1.6)))
        else:
            i = coloured % 6
            marker = MARKERS[(coloured + coloured // 6) % 6]  # the seventh has the first's colour, not its marker
            styled.append((one, Style(str(i + 1), COLOURS[i], DASHES[i], marker, 2, coloured > 0)))
            coloured += 1
    return styled


def draw_all(chart: Chart, frame: Frame, narrow: bool = False) -> Iterator[str]:
    """Every series. Bars, and points with intervals, stand side by side. Names of lines stand at their ends, or, in a
    narrow drawing, above them.
    """
    beside = {
        "bars": [s for s in chart.series if s.look == "bars"],
        "intervals": [s for s in chart.series if s.low and s.look != "boxes"],
    }
    for series, style in style_all(chart.series):
        every = beside["bars" if series.look == "bars" else "intervals"]
        group = [other for other in every if set(other.x) & set(series.x)]  # what has a place of its own stays there
        place = group.index(series) - (len(group) - 1) / 2 if series in group else 0
        if series.look == "bars":
            width = 0.76 * frame.slot / len(group)
            yield from _draw_bars(series, style, frame, place * width, width)
        elif series.look in ("boxes", "marks"):
            yield from _draw_boxes(series, style, frame)
        else:
            bare = len(series.x) > MANY or (series.quiet and chart.names == "ends")
            has_markers = series.look == "points" or not bare
            yield from _draw_points(series, style, frame, place * choose_spacing(chart), has_markers)
    if chart.names == "ends":
        yield from _draw_names([series for series in chart.series if series.quiet], frame, narrow)


def choose_spacing(chart: Chart) -> float:
    """Pixels between series whose intervals stand side by side."""
    return 11 if chart.sideways else min(6.0, 40 / len(chart.series))


def draw_sample(series: Series, style: Style, x: float, y: float) -> str:
    """A short piece of the series, 30 wide, for a legend."""
    if series.look == "bars":
        return _draw_bar(x + 5, y - 5, 20, 10, style, series.name)
    if series.look == "boxes":
        return f'<rect {style.stroke()} x="{x + 5:.0f}" y="{y - 4:.0f}" width="20" height="8"/>'
    line = f'<line {style.stroke()} x1="{x:.0f}" x2="{x + 30:.0f}" y1="{y:.0f}" y2="{y:.0f}"/>'
    dot = _draw_marker((x + 15, y), style, series.name)
    if series.look == "points" and not series.low:
        return dot
    return line if series.look == "marks" or len(series.x) > MANY else f"{line}{dot}"


def _draw_points(series: Series, style: Style, frame: Frame, beside: float, has_markers: bool) -> Iterator[str]:
    """Intervals, the line that joins the points, and their markers."""
    for x, _, low, high in series.intervals:
        if low is not None and high is not None:
            (x1, y1), (x2, y2) = frame.locate(x, low, beside), frame.locate(x, high, beside)
            stroke = style.stroke_thin() if series.look == "line" else style.stroke()
            yield f'<line {stroke} x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
    if series.look == "line":
        for run in _split_runs(series):
            path = " ".join("{:.1f},{:.1f}".format(*frame.locate(x, y, beside)) for x, y in run)
            yield f'<polyline {style.stroke()} points="{path}"/>'
    if has_markers:
        markers = []
        for x, y, low, high in series.intervals:
            if y is not None:
                said = "" if low is None or high is None else f", {format_number(low)} to {format_number(high)}"
                markers.append(
                    _draw_marker(frame.locate(x, y, beside), style, f"{series.name}: {format_number(y)}{said}")
                )
        crowded = series.look == "points" and not series.low
        yield f'<g fill-opacity="0.5">{"".join(markers)}</g>' if crowded else "".join(markers)


def _split_runs(series: Series) -> list[list[tuple[float, float]]]:
    """The points, broken where there is no value."""
    runs: list[list[tuple[float, float]]] = [[]]
    for x, y in zip(series.x, series.y, strict=True):
        if y is None:
            runs.append([])
        else:
            runs[-1].append((x, y))
    return [run for run in runs if run]


def _draw_bars(series: Series, style: Style, frame: Frame, beside: float, width: float) -> Iterator[str]:
    for x, y, *_ in series.intervals:
        if y:
            (x1, y1), (x2, y2) = frame.locate(x, y, beside - width / 2), frame.locate(x, 0, beside + width / 2)
            left, top = min(x1, x2), min(y1, y2)
            yield _draw_bar(left, top, abs(x2 - x1), abs(y2 - y1), style, f"{series.name}: {format_number(y)}")


def _draw_bar(x: float, y: float, width: float, height: float, style: Style, title: str) -> str:
    """Filled, or an outline with hatching."""
    tip = f"<title>{escape(title)}</title>"
    box = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    if not style.hatched:
        return f"<rect {style.fill()} {box}>{tip}</rect>"
    lines = []
    for start in range(7, int(width + height), 7):  # from the left or lower edge up to the upper or right one
        left, right = max(0.0, start - height), min(width, start)
        lines.append(f"M{x + left:.1f} {y + start - left:.1f}L{x + right:.1f} {y + start - right:.1f}")
    return f'<g {style.stroke_thin()}><rect {box}/><path d="{"".join(lines)}"/>{tip}</g>'


def _draw_boxes(series: Series, style: Style, frame: Frame) -> Iterator[str]:
    """A short bar at each value, as wide as a bar's place; of a box, with its quartiles around it."""
    half = 0.3 * frame.slot if series.low else 0.38 * frame.slot
    for x, y, low, high in series.intervals:
        if y is None:
            continue
        (left, level), (right, _) = frame.locate(x, y, -half), frame.locate(x, y, half)
        tip = f"<title>{escape(series.name)}: {format_number(y)}</title>"
        yield f'<line {style.stroke()} x1="{left:.1f}" x2="{right:.1f}" y1="{level:.1f}" y2="{level:.1f}">{tip}</line>'
        if low is not None and high is not None:
            top, bottom = frame.locate(x, high)[1], frame.locate(x, low)[1]
            box = f'x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}"'
            yield f"<rect {style.stroke()} {box}/>"


def _draw_names(lines: Sequence[Series], frame: Frame, above: bool) -> Iterator[str]:
    """Each beside the last point of its line, or above it, below the name before it, and not below the plot."""
    ends = []
    for series in lines:
        known = [(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None]
        if known:
            ends.append((frame.locate(*known[-1])[1], series.name))
    ends.sort()
    heights, lowest, highest = [], 0.0, frame.bottom + NAME_HEIGHT
    for y, _ in ends:
        lowest = max(y - 4 if above else y + 3, lowest + NAME_HEIGHT)
        heights.append(lowest)
    for i in reversed(range(len(ends))):
        heights[i] = highest = min(heights[i], highest - NAME_HEIGHT)
    place = f'x="{frame.right:.1f}" text-anchor="end"' if above else f'x="{frame.right + 4:.1f}"'
    for height, (_, name) in zip(heights, ends, strict=True):
        yield f'<text {place} y="{height:.1f}">{escape(name)}</text>'


def _draw_marker(at: tuple[float, float], style: Style, title: str) -> str:
    x, y = at
    shapes = {
        "circle": f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.8"',
        "ring": f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill-opacity="0.15"',
        "square": f'<rect x="{x - 2.8:.1f}" y="{y - 2.8:.1f}" width="5.6" height="5.6"',
        "triangle": f'<path d="M{x:.1f} {y - 3.6:.1f}l3.4 6h-6.8z"',
        "diamond": f'<path d="M{x:.1f} {y - 3.8:.1f}l3.8 3.8l-3.8 3.8l-3.8 -3.8z"',
        "cross": f'<path d="M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6" fill-opacity="0"',
    }
    shape = shapes[style.marker]
    tag = shape[1 : shape.index(" ")]
    return f"{shape} {style.fill()}><title>{escape(title)}</title></{tag}>"
