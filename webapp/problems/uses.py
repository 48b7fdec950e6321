"""What needs a problem. Tasks are named: experiments and studies hold a problem's name, not a foreign key."""

from __future__ import annotations

from webapp.problems import signals
from webapp.problems.models import Problem

MOST_NAMES = 5
"""Names of each kind that are listed."""


def describe_uses(problem: Problem) -> list[str]:
    """What stands against deleting it, in words."""
    return [f"{problem} is used by {_format_names(kind, names)}." for kind, names in signals.find_uses(problem)]


def _format_names(kind: str, names: list[str]) -> str:
    named = ", ".join(f"“{name}”" for name in names[:MOST_NAMES])
    return f"the {kind} {named}" if len(names) == 1 else f"{len(names)} {kind}s: {named}{_format_rest(names)}"


def _format_rest(names: list[str]) -> str:
    return f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
