"""Options of methods and judges in forms: the field that takes them, and the help that lists them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from llm.method import Method, Option
from llm.methods import OFFERED
from webapp.experiments.judges import JUDGES
from webapp.experiments.options import format_value, parse_options


class OptionsField(forms.CharField):
    """Lines of text in the form, a dictionary in the row, whose clean() checks names and values."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, widget=forms.Textarea({"rows": 3, "spellcheck": "false"}), **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return (
            "\n".join(f"{name} = {format_value(v)}" for name, v in value.items())
            if isinstance(value, Mapping)
            else value
        )

    def to_python(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return value
        try:
            return parse_options(line for line in str(value or "").splitlines() if line.strip())
        except ValueError as error:
            raise ValidationError(str(error)) from error

    def has_changed(self, initial: Any, data: Any) -> bool:
        if self.disabled:
            return False
        try:
            return bool(self.to_python(data) != self.to_python(self.prepare_value(initial or {})))
        except ValidationError:
            return True


def describe_methods(methods: Collection[Method] = tuple(OFFERED.values())) -> SafeString:
    """What each method does, its own K and N, N on some tasks, and its algorithm; the form shows those of the chosen
    method (bench/admin.js).
    """
    rows = [(m.name, m.k, m.n, json.dumps(dict(m.rounds_on)), m.algorithm, m.title, m.summary) for m in methods]
    item = '<li data-choice="{}" data-k="{}" data-n="{}" data-rounds-on="{}" data-algorithm="{}"><b>{}</b>: {}</li>'
    listed = format_html_join("", item, rows)
    return _render_choices("method", "What they do", listed)


def describe_method_options(methods: Collection[Method] = tuple(OFFERED.values())) -> SafeString:
    """Every method's options, for the form."""
    return _describe_options(
        "method", "options", [(method.name, method.title, method.all_options) for method in methods]
    )


def describe_judge_options() -> SafeString:
    """Every judge's options, for the form."""
    return _describe_options(
        "judge", "judge_options", [(judge.name, judge.title, judge.options) for judge in JUDGES.values()]
    )


def _describe_options(field: str, box: str, owners: Iterable[tuple[str, str, Sequence[Option]]]) -> SafeString:
    rows = [(name, title, _render_options(options) or "no options") for name, title, options in owners]
    listed = format_html_join("", '<li data-choice="{}"><b>{}</b>: {}</li>', rows)
    return format_html("One name = value per line. {}", _render_choices(field, "All options", listed, box))


def _render_choices(field: str, summary: str, listed: SafeString, box: str = "") -> SafeString:
    """The choices of `field`; where they list options, a click on one writes it into `box`."""
    text = '<details class="prefine-about" data-about="{}" data-box="{}"><summary>{}</summary><ul>{}</ul></details>'
    return format_html(text, field, box, summary, listed)


def _render_options(options: Iterable[Option]) -> SafeString:
    rows = [(line := f"{o.name} = {format_value(o.default)}", line, o.help) for o in options if o.listed]
    listed = format_html_join("", '<li><button type="button" data-option="{}">{}</button> {}</li>', rows)
    return format_html("<ul>{}</ul>", listed) if listed else listed
