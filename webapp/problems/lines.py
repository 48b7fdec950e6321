"""Fields for text that programs read: lines end with \\n, surrounding white space is kept."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db import models


def normalize_newlines(text: Any) -> Any:
    """The text with \\n for the \\r\\n of browsers and Windows files; other values as they are."""
    return text.replace("\r\n", "\n") if isinstance(text, str) else text


class ExactText(forms.CharField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "strip": False})

    def to_python(self, value: Any) -> Any:
        return normalize_newlines(super().to_python(value))


class ExactTextField(models.TextField):
    """Rows that hold \\r\\n are read with \\n, too."""

    def get_prep_value(self, value: Any) -> Any:
        return normalize_newlines(super().get_prep_value(value))

    def from_db_value(self, value: Any, *_: Any) -> Any:
        return normalize_newlines(value)

    def formfield(self, **kwargs: Any) -> Any:
        return super().formfield(**{"form_class": ExactText, **kwargs})
