"""Text that programs read: its lines end as everywhere here, and white space around it is part of it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db import models


def normalize_newlines(text: Any) -> Any:
    """Browsers send, and files from Windows have, \\r\\n."""
    return text.replace("\r\n", "\n") if isinstance(text, str) else text


class ExactText(forms.CharField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "strip": False})

    def to_python(self, value: Any) -> Any:
        return normalize_newlines(super().to_python(value))


class ExactTextField(models.TextField):
    """Also what was kept with \\r\\n, or comes so from an archive, is read with \\n."""

    def get_prep_value(self, value: Any) -> Any:
        return normalize_newlines(super().get_prep_value(value))

    def from_db_value(self, value: Any, *_: Any) -> Any:
        return normalize_newlines(value)

    def formfield(self, **kwargs: Any) -> Any:
        return super().formfield(**{"form_class": ExactText, **kwargs})
