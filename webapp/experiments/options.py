"""Options of methods and judges as people type them: one `name = value` a line, or on the command line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextareaWidget

from llm.judges import OPTIONS as JUDGE_OPTIONS
from llm.method import Method, Option
from llm.methods import METHODS

OFFLINE = "offline"
"""The name of the offline writer on the command line."""
DJANGOS_OWN = {
    *("--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color", "--force-color"),
    "--skip-checks",
}
"""Options that every command of Django takes, and that say nothing to people who run experiments."""


def parsed(lines: Iterable[str]) -> dict[str, str]:
    """Name -> value of lines like "islands = 4". Raises ValueError for a line without a name or a value."""
    found = {}
    for line in lines:
        name, equals, value = (part.strip() for part in line.partition("="))
        if not (name and equals and value):
            raise ValueError(f"{line.strip()!r} is not an option: write it as name=value")
        found[name] = value
    return found


class OptionsField(forms.CharField):
    """A text of lines in the form, a dictionary in the row. What the names and values may be, the row's clean says."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}), **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(f"{name} = {_shown(v)}" for name, v in value.items()) if isinstance(value, Mapping) else value

    def to_python(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return value
        try:
            return parsed(line for line in str(value or "").splitlines() if line.strip())
        except ValueError as error:
            raise ValidationError(str(error)) from error

    def has_changed(self, initial: Any, data: Any) -> bool:
        if self.disabled:
            return False
        try:
            return bool(self.to_python(data) != self.to_python(self.prepare_value(initial or {})))
        except ValidationError:
            return True


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value}"


def methods_help(methods: Collection[Method] = tuple(METHODS.values())) -> SafeString:
    """What each method does, for the form."""
    rows = [(method.title, method.summary) for method in methods]
    listed = format_html_join("", "<li><b>{}</b>: {}</li>", rows)
    return format_html("<details><summary>What they do</summary><ul>{}</ul></details>", listed)


def method_help(methods: Collection[Method] = tuple(METHODS.values())) -> SafeString:
    """Every method's options, for the form."""
    rows = [(method.title, _listed(method.options)) for method in methods if method.options]
    listed = format_html_join("", "<b>{}</b>: {}<br>", rows)
    return format_html("One name = value a line. <details><summary>Which there are</summary>{}</details>", listed)


def judge_help() -> SafeString:
    rows = [(judge, _listed(options)) for judge, options in JUDGE_OPTIONS.items() if options]
    return format_html("One name = value a line.<br>{}", format_html_join("", "<b>{}</b>: {}<br>", rows))


def _listed(options: Iterable[Option]) -> SafeString:
    rows = [(option.name, _shown(option.default), option.help) for option in options]
    return format_html_join(" ", "<code>{} = {}</code> {}", rows)


def on_the_command_line() -> str:
    """The options of every method and judge in plain text."""
    named = {method.name: method.options for method in METHODS.values()}
    lines = [
        f"  {name}: " + "; ".join(f"{o.name}={_shown(o.default)} ({o.help})" for o in options)
        for name, options in {**named, **{f"judge {name}": o for name, o in JUDGE_OPTIONS.items()}}.items()
        if options
    ]
    return "\n".join(["options and their defaults:", *lines])
