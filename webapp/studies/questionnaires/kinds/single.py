"""One of several options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webapp.studies.questionnaires.kind import (
    Column,
    Distribution,
    ItemKind,
    Posted,
    count_codes,
    describe_codes,
    number_lines,
    read_code,
    split_lines,
)
from webapp.studies.questionnaires.models import Item

MOST_OPTIONS = 100


def find_faults(item: Item) -> Mapping[str, str]:
    options = split_lines(item.options)
    if len(options) < 2:
        return {"options": "Give at least two options, one a line."}
    if len(options) > MOST_OPTIONS:
        return {"options": f"Give at most {MOST_OPTIONS} options."}
    twice = next((option for option in options if options.count(option) > 1), "")
    return {"options": f"“{twice}” is there twice."} if twice else {}


def list_codes(item: Item) -> list[tuple[int, str]]:
    return number_lines(item.options)


def read(item: Item, name: str, posted: Posted) -> int | None:
    return read_code(posted.get(name, ""), [code for code, _ in list_codes(item)])


def list_columns(item: Item) -> list[Column]:
    return [Column(item.variable, item.text, describe_codes(list_codes(item)))]


def count(item: Item, values: Sequence[Any]) -> list[Distribution]:
    codes, words = zip(*list_codes(item), strict=True)
    return [Distribution(item.variable, item.text, words, count_codes(codes, values))]


KIND = ItemKind(
    name="single",
    title="Single choice",
    settings=("options",),
    find_faults=find_faults,
    read=read,
    list_columns=list_columns,
    list_cells=lambda item, value: [value],
    count=count,
    list_codes=list_codes,
    has_code=lambda value, codes: value in codes,
    estimate_seconds=lambda item: 5 + len(split_lines(item.options)),
)
