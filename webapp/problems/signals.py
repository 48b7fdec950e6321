"""Questions to the rooms above: what uses a problem, and which open votes show a file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.dispatch import Signal

from webapp.problems.models import Attachment, Problem

uses_requested = Signal()
"""Sent with `problem`; a receiver returns (what kind of row, their names)."""
votes_requested = Signal()
"""Sent with `files`; a receiver returns the titles of open votes whose pages show one of them."""


def find_uses(problem: Problem) -> list[tuple[str, list[str]]]:
    """(kind of row, names) of everything that needs this problem, by its name: no foreign key says so."""
    answers: list[tuple[Any, Any]] = uses_requested.send(Problem, problem=problem)
    return [(kind, names) for _, (kind, names) in answers if names]


def find_open_votes(files: Iterable[Attachment]) -> list[str]:
    """The titles of open votes whose pages show one of these files."""
    answers: list[tuple[Any, Any]] = votes_requested.send(Attachment, files=list(files))
    return [title for _, titles in answers for title in titles]
