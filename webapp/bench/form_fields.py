"""The fields of a form: what they offer, once the form is made for its study or its task, and their sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.db.models import QuerySet

Sections = Mapping[str, Sequence[str]]
"""Title -> fields of a form. Sections with a title are folded."""


def set_choices(form: forms.BaseForm, name: str, choices: Any) -> None:
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    field.choices = choices


def set_rows(form: forms.BaseForm, name: str, rows: QuerySet[Any]) -> None:
    field = form.fields[name]
    assert isinstance(field, forms.ModelChoiceField)
    field.queryset = rows


def set_empty_labels(form: forms.BaseForm, words: Mapping[str, str]) -> None:
    """Say what it means to choose no row, by the names of the fields."""
    for name, label in words.items():
        field = form.fields[name]
        assert isinstance(field, forms.ModelChoiceField)
        field.empty_label = label


class SectionedForm(forms.BaseForm):
    """A form whose page shows its fields in sections (bench/_form_parts.html)."""

    section_names: Sections
    field_template = "bench/_plan_field.html"

    @property
    def sections(self) -> list[tuple[str, list[forms.BoundField], bool]]:
        """The fields under the titles of their sections, and whether a section is open: if a field of it is refused, or
        is not as usual.
        """
        found = []
        for title, names in self.section_names.items():
            fields = [self[name] for name in names if name in self.fields]
            found.append((title, fields, any(field.errors or _is_set(field) for field in fields)))
        return found


def _is_set(field: forms.BoundField) -> bool:
    """Whether it has another value than in an empty form."""
    return _to_text(field.value()) != _to_text(field.field.initial)


def _to_text(value: Any) -> str:
    """A value as a browser sends it, without the CR of its line ends."""
    return "" if value in (None, [], {}) or value is False else str(value).replace("\r\n", "\n")
