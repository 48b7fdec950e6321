"""What needs a problem. Tasks are named: experiments and studies hold a problem's name, not a foreign key."""

from __future__ import annotations

from webapp.problems import signals
from webapp.problems.models import Problem

MOST = 5
"""Names of each kind that are listed."""


def uses_of(problem: Problem) -> list[str]:
    """What stands against deleting it, in words."""
    return [f"{problem} is used by {_words(kind, names)}." for kind, names in signals.uses_of(problem)]


def _words(kind: str, names: list[str]) -> str:
    named = ", ".join(f"“{name}”" for name in names[:MOST])
    return f"the {kind} {named}" if len(names) == 1 else f"{len(names)} {kind}s: {named}{_rest(names)}"


def _rest(names: list[str]) -> str:
    return f" and {len(names) - MOST} more" if len(names) > MOST else ""
