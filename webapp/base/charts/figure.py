"""What a figure shows, without how it is drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Look = Literal["line", "points", "bars", "boxes", "marks"]
Values = tuple[float | None, ...]
MOST_QUIET_NAMES = 10


@dataclass(frozen=True)
class Series:
    name: str
    x: tuple[float, ...]
    """On an axis with categories, their indexes."""
    y: Values
    """None where there is no value: the line breaks. The median of a box."""
    low: Values = ()
    high: Values = ()
    """The interval around each point, or the quartiles of a box; empty if there are none."""
    look: Look = "line"
    """A mark is a short bar in ink, such as a mean or an expected count."""
    quiet: bool = False
    """Grey and thin: one of many lines behind the one that matters."""

    @property
    def intervals(self) -> list[tuple[float, float | None, float | None, float | None]]:
        """(x, value, low, high) of every point."""
        missing = (None,) * len(self.x)
        return list(zip(self.x, self.y, self.low or missing, self.high or missing, strict=True))


@dataclass(frozen=True)
class Chart:
    """A figure. Labels carry units. Series are drawn in their order, later ones on top."""

    slug: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    x_range: tuple[float, float] = (0, 100)
    whole_x: bool = False
    """Ticks on whole numbers only, as for rounds."""
    whole_y: bool = False
    categories: tuple[str, ...] = ()
    """Names along the x axis in place of numbers."""
    covers: tuple[float, ...] = ()
    """Values that the y axis includes in any case."""
    reference: float | None = None
    """A line at this value, such as no preference."""
    sideways: bool = False
    """Categories are rows and values run to the right: a forest plot."""
    names: Literal["legend", "ends", "none"] = "legend"
    """Where the names of series stand: in a legend, or at the right ends of quiet lines."""

    @property
    def empty(self) -> bool:
        return not any(True for _ in self.values())

    @property
    def readable(self) -> bool:
        """Whether it is few lines over numbers, which a cursor can follow and a table can list by x."""
        lines = all(series.look == "line" and not series.quiet for series in self.series)
        return lines and not self.categories and not self.empty

    @property
    def in_legend(self) -> tuple[Series, ...]:
        """The series that a legend names: none if there is one alone, and few quiet ones or none of them."""
        many = sum(series.quiet for series in self.series) > MOST_QUIET_NAMES
        named = tuple(series for series in self.series if not (many and series.quiet))
        return named if self.names == "legend" and len(self.series) > 1 else ()

    def values(self) -> Iterator[float]:
        """Every number on the y axis."""
        for series in self.series:
            for column in (series.y, series.low, series.high):
                yield from (value for value in column if value is not None)


def drop_infinite(value: float | None) -> float | None:
    """The value, or None where JSON or a bad run left something that cannot be drawn."""
    return float(value) if value is not None and math.isfinite(value) else None
