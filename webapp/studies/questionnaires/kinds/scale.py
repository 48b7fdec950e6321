"""One question on a scale of equal steps whose ends have words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webapp.studies.models.questionnaires import Item
from webapp.studies.questionnaires.kind import (
    Column,
    Distribution,
    ItemKind,
    Posted,
    count_codes,
    describe_steps,
    list_steps,
    read_code,
)


def find_faults(item: Item) -> Mapping[str, str]:
    ends = {"low_label": item.low_label, "high_label": item.high_label}
    return {name: "Say what this end of the scale means." for name, words in ends.items() if not words.strip()}


def read(item: Item, name: str, posted: Posted) -> int | None:
    return read_code(posted.get(name, ""), range(1, item.steps + 1))


def list_columns(item: Item) -> list[Column]:
    return [Column(item.variable, item.text, describe_steps(item))]


def count(item: Item, values: Sequence[Any]) -> list[Distribution]:
    return [count_steps(item, item.variable, item.text, values)]


def count_steps(item: Item, name: str, title: str, values: Sequence[Any]) -> Distribution:
    codes = range(1, item.steps + 1)
    return Distribution(name, title, tuple(map(str, codes)), count_codes(codes, values), describe_steps(item))


KIND = ItemKind(
    name="scale",
    title="Scale",
    settings=("steps", "low_label", "high_label"),
    find_faults=find_faults,
    read=read,
    list_columns=list_columns,
    count=count,
    list_codes=lambda item: [(code, words or str(code)) for code, words in list_steps(item)],
    has_code=lambda value, codes: value in codes,
    list_points=lambda item, value: [value],
)
