"""A line of text."""

from __future__ import annotations

from webapp.base.http import strip_nul
from webapp.studies.models.questionnaires import Item
from webapp.studies.questionnaires.kind import Column, ItemKind, Posted, find_no_faults, no_distribution

MOST = 300


def read(item: Item, name: str, posted: Posted) -> str | None:
    return strip_nul(posted.get(name, "") or "").strip()[:MOST] or None


def list_columns(item: Item) -> list[Column]:
    return [Column(item.variable, item.text)]


KIND = ItemKind(
    name="short",
    title="Short text",
    settings=(),
    find_faults=find_no_faults,
    read=read,
    list_columns=list_columns,
    list_cells=lambda item, value: [value],
    count=no_distribution,
    list_texts=lambda item, values: list(values),
    estimate_seconds=lambda item: 15.0,
)
