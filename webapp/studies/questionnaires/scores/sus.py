"""System Usability Scale (Brooke 1996): ten statements in five steps, odd ones positive, even ones negative."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webapp.base.text_lines import split_lines
from webapp.studies.models.questionnaires import Item

NAME = "sus"
COLUMN = "sus_score"
MEANING = "System Usability Scale, 0 to 100, more is better: 2.5 times the sum of (odd - 1) and (5 - even)."
STATEMENTS, STEPS = 10, 5
FAULT = "The score of the System Usability Scale needs a grid with ten rows in five steps."


def find_range(items: Sequence[Item]) -> tuple[float, float]:
    return 0, 100


def find_grid(items: Sequence[Item]) -> Item | None:
    fits = (item for item in items if item.kind == "grid" and item.steps == STEPS)
    return next((item for item in fits if len(split_lines(item.statements)) == STATEMENTS), None)


def find_fault(items: Sequence[Item]) -> str:
    return "" if find_grid(items) else FAULT


def compute(items: Sequence[Item], values: Mapping[int, Any]) -> float | None:
    """The score from stored values by item; None unless every statement was answered."""
    grid = find_grid(items)
    given = values.get(grid.pk) if grid else None
    if not given or len(given) < STATEMENTS:
        return None
    points: list[int] = [
        given[str(row)] - 1 if row % 2 else STEPS - given[str(row)] for row in range(1, STATEMENTS + 1)
    ]
    return 2.5 * sum(points)
