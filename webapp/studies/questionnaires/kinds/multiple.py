"""Any number of several options."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from webapp.base.text_lines import split_lines
from webapp.studies.models.questionnaires import Item
from webapp.studies.questionnaires import own_words
from webapp.studies.questionnaires.kind import Column, Posted, read_code
from webapp.studies.questionnaires.kinds import single


def read(item: Item, name: str, posted: Posted) -> list[int] | dict[str, Any] | None:
    """The codes; with the person's own words where they chose to write. Words without a tick are a choice."""
    codes = [code for code, _ in own_words.list_options(item)]
    chosen = {code for given in posted.getlist(name) if (code := read_code(given, codes)) is not None}
    text = own_words.read(item, name, posted)
    last = own_words.find_open_code(item)
    if last and (last in chosen or text):
        return {"codes": sorted({*chosen, last}), "text": own_words.require(text)}
    return sorted(chosen) or None


def list_columns(item: Item) -> list[Column]:
    return [
        Column(f"{item.variable}_{code}", f"{item.text} {words}", "1 = chosen; 0 = not chosen")
        for code, words in own_words.list_options(item)
    ] + own_words.list_column(item)


def list_cells(item: Item, value: Any) -> list[Any]:
    text = [own_words.get_text(value)] if item.other_label else []
    chosen = own_words.get_codes(value)
    return [*(None if value is None else int(code in chosen) for code, _ in own_words.list_options(item)), *text]


KIND = replace(
    single.KIND,
    name="multiple",
    title="Multiple choice",
    read=read,
    list_columns=list_columns,
    list_cells=list_cells,
    estimate_seconds=lambda item: 6 + 1.5 * len(split_lines(item.options)),
)
