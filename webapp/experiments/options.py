"""Options of methods and judges as text: `name = value`, in lines or on the command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llm.method import TEMPERATURES
from llm.methods import OFFERED
from webapp.experiments.judges import JUDGES

OFFLINE = "offline"
"""The name of the offline writer on the command line."""


def parse_options(lines: Iterable[str]) -> dict[str, str]:
    """Name -> value of lines like "islands = 4". Raises ValueError for a line without a name or a value."""
    found = {}
    for line in lines:
        name, equals, value = (part.strip() for part in line.partition("="))
        if not (name and equals and value):
            raise ValueError(f"{line.strip()!r} is not an option: write it as name=value")
        found[name] = value
    return found


def format_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value}"


def describe_options() -> str:
    """The options of all methods and judges, for the help of the command line."""
    named = {method.name: method.options for method in OFFERED.values()}
    named["every method that asks a language model"] = TEMPERATURES
    lines = [
        f"  {name}: " + "; ".join(f"{o.name}={format_value(o.default)} ({o.help})" for o in options if o.listed)
        for name, options in {**named, **{f"judge {judge.name}": judge.options for judge in JUDGES.values()}}.items()
        if options
    ]
    return "\n".join(["options and their defaults:", *lines])
