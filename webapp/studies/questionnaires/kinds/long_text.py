"""Several lines of text."""

from __future__ import annotations

from webapp.base.http import strip_nul
from webapp.studies.models.questionnaires import Item
from webapp.studies.questionnaires.kind import ItemKind, Posted, find_no_faults, no_distribution
from webapp.studies.questionnaires.kinds.short_text import list_columns

MOST = 10_000


def read(item: Item, name: str, posted: Posted) -> str | None:
    return strip_nul(posted.get(name, "") or "").strip()[:MOST] or None


KIND = ItemKind(
    name="long",
    title="Long text",
    settings=(),
    find_faults=find_no_faults,
    read=read,
    list_columns=list_columns,
    list_cells=lambda item, value: [value],
    count=no_distribution,
    list_texts=lambda item, values: list(values),
    estimate_seconds=lambda item: 45.0,
)
