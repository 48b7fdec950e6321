"""Sets what the fields of a form offer, once the form is made for its study or its task."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import QuerySet


def set_choices(form: forms.BaseForm, name: str, choices: Any) -> None:
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    field.choices = choices


def set_rows(form: forms.BaseForm, name: str, rows: QuerySet[Any]) -> None:
    field = form.fields[name]
    assert isinstance(field, forms.ModelChoiceField)
    field.queryset = rows
