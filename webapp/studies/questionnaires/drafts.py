"""An item that is being written, before it is saved."""

from __future__ import annotations

import math

from django.http import QueryDict

from webapp.base.http import strip_nul
from webapp.studies.models.questionnaires import Item, Questionnaire
from webapp.studies.questionnaires.kinds import KINDS

TEXTS = ("text", "hint", "options", "other_label", "statements", "low_label", "high_label", "unit")
KEY = 0
"""Stands for the primary key in names of fields."""


def build_item(posted: QueryDict, questionnaire: Questionnaire) -> Item:
    """An unsaved item from the builder's form. What cannot be used is left at its default."""
    kind = posted.get("kind", "")
    item = Item(questionnaire=questionnaire, pk=KEY, kind=kind if kind in KINDS else next(iter(KINDS)))
    for name in TEXTS:
        setattr(item, name, strip_nul(posted.get(name, "")))
    item.text = item.text or "…"
    item.required = "required" in posted
    steps = posted.get("steps", "")
    if steps.isascii() and steps.isdecimal() and 2 <= int(steps[:3]) <= 21:
        item.steps = int(steps)
    item.lowest, item.highest = _read_number(posted.get("lowest", "")), _read_number(posted.get("highest", ""))
    return item


def _read_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
