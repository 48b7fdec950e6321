"""What the product knows of a form of answers to problems. Each has a file in webapp/problems/forms/."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.safestring import SafeString

from webapp.problems.models import Problem
from webapp.problems.scoring import AskModel, Score

GIST_LETTERS = 120
"""Longest final answer on a card."""


@dataclass(frozen=True)
class Part:
    """A section of an answer."""

    title: str
    html: SafeString


@dataclass(frozen=True)
class Text:
    """What people read of an answer."""

    final: SafeString = field(default_factory=SafeString)
    parts: tuple[Part, ...] = ()
    code: str = ""
    compiler_message: str = ""
    """The compiler's words."""
    subtasks: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class TriedSource:
    """A candidate's source and what trying it gave, as its row keeps them."""

    source: str
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Form:
    """A form of answers, by the name that problems keep (llm.records)."""

    name: str
    build_text: Callable[[Problem, TriedSource], Text]
    """What reviewers read."""
    summarize: Callable[[Problem, str], str]
    """A source on a card, in one line."""
    get_ending: Callable[[Problem], str]
    """Of a candidate's file in an export."""
    make_sample: Callable[[Problem, int], TriedSource]
    """A made-up one for the preview, by its place from 0."""
    build_fields: Callable[[Problem], dict[str, Any]]
    """Fields of llm.records.Problem that this form alone has."""
    score: Callable[[Problem, Sequence[str], AskModel | None, int, Callable[[], None]], list[Score]]
    """(problem, sources, whom to ask where no rule decides, seed, stop check) -> what each is worth."""
