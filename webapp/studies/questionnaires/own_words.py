"""The last option of a choice, which people complete in their own words, for example “Other: ____”."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext

from webapp.base.http import strip_nul
from webapp.base.text_lines import split_lines
from webapp.studies.models.questionnaires import Item
from webapp.studies.questionnaires.kind import Column, Posted, Unusable, number_lines

MOST = 300
COLUMN = "other"


def list_options(item: Item) -> list[tuple[int, str]]:
    """The options with their codes; that with a field for text is the last one."""
    code = find_open_code(item)
    return [*number_lines(item.options), *([(code, item.other_label)] if code else [])]


def find_open_code(item: Item) -> int | None:
    return len(split_lines(item.options)) + 1 if item.other_label else None


def name_field(name: str) -> str:
    """The form field of the text."""
    return f"{name}-other"


def read(item: Item, name: str, posted: Posted) -> str:
    return strip_nul(posted.get(name_field(name), "") or "").strip()[:MOST] if item.other_label else ""


def require(text: str) -> str:
    if not text:
        raise Unusable(gettext("Please write what you mean into the field."))
    return text


def get_codes(value: Any) -> list[int]:
    """The codes of a stored value: a code, a list of codes, or one of both with the person's own words."""
    if isinstance(value, dict):
        value = value["codes"]
    return value if isinstance(value, list) else [value]


def get_text(value: Any) -> str | None:
    return value["text"] if isinstance(value, dict) else None


def list_column(item: Item) -> list[Column]:
    """The column of what people wrote."""
    return [Column(f"{item.variable}_{COLUMN}", f"{item.text} {item.other_label}")] if item.other_label else []


def list_texts(item: Item, values: Sequence[Any]) -> list[str]:
    return [text for value in values if (text := get_text(value))]
