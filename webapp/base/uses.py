"""Words on what uses something, and so prevents its deletion."""

from __future__ import annotations

from collections.abc import Iterable

MOST_NAMES = 5
"""At most this many names of each kind are listed."""


def describe_uses(used: object, uses: Iterable[tuple[str, list[str]]]) -> list[str]:
    """Sentences on uses of something, from (kind of row, their names)."""
    return [f"{used} is used by {_format_names(kind, names)}." for kind, names in uses]


def _format_names(kind: str, names: list[str]) -> str:
    named = ", ".join(f"“{name}”" for name in names[:MOST_NAMES])
    return f"the {kind} {named}" if len(names) == 1 else f"{len(names)} {kind}s: {named}{_format_rest(names)}"


def _format_rest(names: list[str]) -> str:
    return f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
