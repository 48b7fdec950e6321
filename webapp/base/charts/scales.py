"""From values to pixels: ticks, their texts, and the frame of a plot."""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass


def choose_ticks(low: float, high: float, count: int = 5, whole: bool = False) -> list[float]:
    """Round numbers that cover [low, high]: steps of 1, 2 or 5 times a power of ten."""
    if not high > low:
        low, high = low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2
    rough = (high - low) / max(count - 1, 1)
    power = 10 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
    step = max(1.0, round(step)) if whole else step
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 10) for i in range(first, last + 1)]


def format_number(value: float) -> str:
    """A tick or table value: four digits, in exponents only what is tiny or huge."""
    size = abs(value)
    if value == 0 or 1e3 <= size < 1e5:
        return f"{value:.0f}"
    return f"{value:.4g}" if 1e-3 <= size < 1e3 else f"{value:.1e}"


def estimate_width(text: str) -> float:
    """About how many pixels a text of 11 px takes: no font is read."""
    return sum(11.0 if unicodedata.east_asian_width(letter) in "WF" else 6.2 for letter in text)


@dataclass(frozen=True)
class Frame:
    """The plot area in pixels and its two scales."""

    left: float
    right: float
    top: float
    bottom: float
    xs: list[float]
    """Ticks; empty where there are categories."""
    ys: list[float]
    categories: int
    sideways: bool
    above: float = 0
    """Pixels of each row for its name above it."""

    @property
    def slot(self) -> float:
        """Pixels for what is drawn of one category."""
        return self._length(self.sideways) / max(self.categories, 1) - self.above

    def locate(self, x: float, y: float, beside: float = 0) -> tuple[float, float]:
        """The pixel of a point, moved by `beside` pixels along the x axis."""
        if self.categories:
            along = (x + 0.5) * self.slot + (x + 1) * self.above
        else:
            along = self._part(x, self.xs) * self._length(self.sideways)
        value = self._part(y, self.ys) * self._length(not self.sideways)
        if self.sideways:
            return self.left + value, self.top + along + beside
        return self.left + along + beside, self.bottom - value

    def _length(self, vertical: bool) -> float:
        return self.bottom - self.top if vertical else self.right - self.left

    @staticmethod
    def _part(value: float, marks: list[float]) -> float:
        return (value - marks[0]) / (marks[-1] - marks[0])
