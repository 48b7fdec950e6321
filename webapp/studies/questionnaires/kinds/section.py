"""A text between questions, without an answer."""

from __future__ import annotations

from webapp.studies.questionnaires.kind import ItemKind

KIND = ItemKind(
    name="section",
    title="Text without answer",
    read=lambda item, name, posted: None,
    list_columns=lambda item: [],
    list_cells=lambda item, value: [],
    estimate_seconds=lambda item: 2 + len(item.text.split()) / 4,  # a reader's 240 words a minute
    asks=False,
)
