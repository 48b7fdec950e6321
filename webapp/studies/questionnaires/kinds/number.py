"""A number, with bounds and a unit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

from webapp.studies.models.questionnaires import Item
from webapp.studies.questionnaires.kind import Column, Distribution, ItemKind, Posted, Unusable

BINS = 8
LARGEST = 1e15


def find_faults(item: Item) -> Mapping[str, str]:
    if item.lowest is not None and item.highest is not None and item.lowest >= item.highest:
        return {"highest": "The largest number must be larger than the smallest."}
    return {}


def read(item: Item, name: str, posted: Posted) -> float | int | None:
    given = (posted.get(name, "") or "").strip().replace(",", ".")
    if not given:
        return None
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or abs(value) > LARGEST:
        raise Unusable(gettext("Please give a number in digits."))
    if item.lowest is not None and value < item.lowest:
        raise Unusable(gettext("Please give a number of at least %(number)s.") % {"number": f"{item.lowest:g}"})
    if item.highest is not None and value > item.highest:
        raise Unusable(gettext("Please give a number of at most %(number)s.") % {"number": f"{item.highest:g}"})
    return int(value) if value.is_integer() else value


def list_columns(item: Item) -> list[Column]:
    bounds = [f"from {item.lowest:g}"] if item.lowest is not None else []
    bounds += [f"up to {item.highest:g}"] if item.highest is not None else []
    words = " ".join(filter(None, ["number", *bounds, f"in {item.unit}" if item.unit else ""]))
    return [Column(item.variable, item.text, words)]


def count(item: Item, values: Sequence[Any]) -> list[Distribution]:
    """Each number by itself if there are few, else bins of equal width."""
    if not values:
        return []
    single = sorted(set(values))
    if len(single) <= BINS:
        labels = tuple(f"{value:g}" for value in single)
        return [Distribution(item.variable, item.text, labels, tuple(values.count(value) for value in single))]
    low, width = single[0], (single[-1] - single[0]) / BINS
    counts = [0] * BINS
    for value in values:
        counts[min(BINS - 1, int((value - low) / width))] += 1
    labels = tuple(f"{low + place * width:.3g} to {low + (place + 1) * width:.3g}" for place in range(BINS))
    return [Distribution(item.variable, item.text, labels, tuple(counts))]


KIND = ItemKind(
    name="number",
    title="Number",
    settings=("lowest", "highest", "unit"),
    find_faults=find_faults,
    read=read,
    list_columns=list_columns,
    count=count,
)
