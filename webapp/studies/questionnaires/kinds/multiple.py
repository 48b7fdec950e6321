"""Any number of several options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webapp.studies.questionnaires.kind import Column, Distribution, ItemKind, Posted, read_code, split_lines
from webapp.studies.questionnaires.kinds.single import find_faults, list_codes
from webapp.studies.questionnaires.models import Item


def read(item: Item, name: str, posted: Posted) -> list[int] | None:
    codes = [code for code, _ in list_codes(item)]
    chosen = {code for given in posted.getlist(name) if (code := read_code(given, codes)) is not None}
    return sorted(chosen) or None


def list_columns(item: Item) -> list[Column]:
    return [
        Column(f"{item.variable}_{code}", f"{item.text} {words}", "1 = chosen; 0 = not chosen")
        for code, words in list_codes(item)
    ]


def list_cells(item: Item, value: Any) -> list[Any]:
    return [None if value is None else int(code in value) for code, _ in list_codes(item)]


def count(item: Item, values: Sequence[Any]) -> list[Distribution]:
    codes, words = zip(*list_codes(item), strict=True)
    counts = tuple(sum(code in value for value in values) for code in codes)
    return [Distribution(item.variable, item.text, words, counts)]


KIND = ItemKind(
    name="multiple",
    title="Multiple choice",
    settings=("options",),
    find_faults=find_faults,
    read=read,
    list_columns=list_columns,
    list_cells=list_cells,
    count=count,
    list_codes=list_codes,
    has_code=lambda value, codes: bool(set(value) & set(codes)),
    estimate_seconds=lambda item: 6 + 1.5 * len(split_lines(item.options)),
)
