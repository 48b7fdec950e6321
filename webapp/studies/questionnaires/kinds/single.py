"""One of several options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webapp.base.text_lines import split_lines
from webapp.studies.models.questionnaires import Item
from webapp.studies.questionnaires import own_words
from webapp.studies.questionnaires.kind import (
    Column,
    Distribution,
    ItemKind,
    Posted,
    count_codes,
    describe_codes,
    read_code,
)

MOST_OPTIONS = 100


def find_faults(item: Item) -> Mapping[str, str]:
    options = split_lines(item.options)
    if len(options) < 2:
        return {"options": "Give at least two options, one a line."}
    if len(options) > MOST_OPTIONS:
        return {"options": f"Give at most {MOST_OPTIONS} options."}
    options += [item.other_label] if item.other_label else []
    twice = next((option for option in options if options.count(option) > 1), "")
    return {"options": f"“{twice}” is there twice."} if twice else {}


def read(item: Item, name: str, posted: Posted) -> int | dict[str, Any] | None:
    """The code; with the person's own words where they chose to write. Words without a choice are a choice."""
    text = own_words.read(item, name, posted)
    last = own_words.find_open_code(item)
    code = read_code(posted.get(name, ""), [code for code, _ in own_words.list_options(item)])
    if last and (code == last or (code is None and text)):
        return {"codes": last, "text": own_words.require(text)}
    return code


def list_columns(item: Item) -> list[Column]:
    codes = describe_codes(own_words.list_options(item))
    return [Column(item.variable, item.text, codes), *own_words.list_column(item)]


def list_cells(item: Item, value: Any) -> list[Any]:
    text = [own_words.get_text(value)] if item.other_label else []
    return [None if value is None else own_words.get_codes(value)[0], *text]


def count(item: Item, values: Sequence[Any]) -> list[Distribution]:
    codes, words = zip(*own_words.list_options(item), strict=True)
    chosen = [code for value in values for code in own_words.get_codes(value)]
    return [Distribution(item.variable, item.text, words, count_codes(codes, chosen))]


def has_code(value: Any, codes: Sequence[int]) -> bool:
    return bool(set(own_words.get_codes(value)) & set(codes))


KIND = ItemKind(
    name="single",
    title="Single choice",
    settings=("options", "other_label"),
    find_faults=find_faults,
    read=read,
    list_columns=list_columns,
    list_cells=list_cells,
    count=count,
    list_codes=own_words.list_options,
    has_code=has_code,
    list_texts=own_words.list_texts,
    find_open_code=own_words.find_open_code,
    estimate_seconds=lambda item: 5 + len(split_lines(item.options)),
)
