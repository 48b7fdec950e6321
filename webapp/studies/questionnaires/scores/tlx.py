"""NASA-TLX without weights (Hart and Staveland 1988; raw: Hart 2006): the mean of six scales of 21 steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webapp.studies.models.questionnaires import Item

NAME = "tlx"
COLUMN = "tlx_score"
MEANING = "NASA-TLX without weights, 0 to 100, more is more load: the mean of six scales, each 5 times (step - 1)."
SCALES, STEPS = 6, 21
FAULT = "The NASA-TLX score needs exactly six scales of 21 steps."


def find_range(items: Sequence[Item]) -> tuple[float, float]:
    return 0, 100


def find_scales(items: Sequence[Item]) -> list[Item]:
    return [item for item in items if item.kind == "scale" and item.steps == STEPS]


def find_fault(items: Sequence[Item]) -> str:
    return "" if len(find_scales(items)) == SCALES else FAULT


def compute(items: Sequence[Item], values: Mapping[int, Any]) -> float | None:
    """The score from stored values by item; None unless every scale was answered."""
    given = [values[item.pk] for item in find_scales(items) if values.get(item.pk) is not None]
    return round(sum(5 * (step - 1) for step in given) / SCALES, 2) if len(given) == SCALES else None
