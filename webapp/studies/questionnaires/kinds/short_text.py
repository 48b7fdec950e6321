"""A line of text."""

from __future__ import annotations

from webapp.base.http import strip_nul
from webapp.studies.models.questionnaires import Item
from webapp.studies.questionnaires.kind import Column, ItemKind, Posted

MOST = 300


def read(item: Item, name: str, posted: Posted, most: int = MOST) -> str | None:
    return strip_nul(posted.get(name, "") or "").strip()[:most] or None


def list_columns(item: Item) -> list[Column]:
    return [Column(item.variable, item.text)]


KIND = ItemKind(
    name="short",
    title="Short text",
    read=read,
    list_columns=list_columns,
    list_texts=lambda item, values: list(values),
    estimate_seconds=lambda item: 15.0,
)
