"""The mean of all scales and rows of grids, after reversed rows are turned round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from webapp.studies.models.questionnaires import Item
from webapp.studies.questionnaires.kinds import KINDS

NAME = "mean"
COLUMN = "mean_score"
MEANING = "Mean of all scales and rows, from 1 to the number of steps, with reversed rows turned round."
FAULT = "The mean needs scales or grids, all with the same number of steps."


def list_points(items: Sequence[Item], values: Mapping[int, Any]) -> list[int | None]:
    return [point for item in items for point in KINDS[item.kind].list_points(item, values.get(item.pk))]


def find_range(items: Sequence[Item]) -> tuple[float, float]:
    return 1, max((item.steps for item in items if KINDS[item.kind].list_points(item, None)), default=1)


def find_fault(items: Sequence[Item]) -> str:
    steps = {item.steps for item in items if KINDS[item.kind].list_points(item, None)}
    return "" if len(steps) == 1 else FAULT


def compute(items: Sequence[Item], values: Mapping[int, Any]) -> float | None:
    """The mean of stored values by item; None unless every scale and row was answered."""
    points = list_points(items, values)
    given = [point for point in points if point is not None]
    return round(fmean(given), 4) if given and len(given) == len(points) else None
