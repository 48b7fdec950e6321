"""The interface of a form of answers to problems. Each form is a file in webapp/problems/forms/."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.safestring import SafeString

from webapp.problems.answer_scores import AskModel, Score
from webapp.problems.models import Problem

GIST_LETTERS = 120
"""Longest final answer in a one-line summary."""


@dataclass(frozen=True)
class Part:
    """A section of an answer."""

    title: str
    html: SafeString


@dataclass(frozen=True)
class Text:
    """An answer as people read it."""

    final: SafeString = field(default_factory=SafeString)
    parts: tuple[Part, ...] = ()
    code: str = ""
    compiler_message: str = ""
    """Empty if the program compiled."""
    subtasks: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class TriedSource:
    """A candidate's source with the result of its test, as its row keeps them."""

    source: str
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Form:
    """A form of answers; `name` is the value of `Problem.form` (llm.records)."""

    name: str
    build_text: Callable[[Problem, TriedSource], Text]
    """The answer as reviewers read it."""
    summarize: Callable[[Problem, TriedSource], str]
    """An answer in one line, for the staff's pages."""
    get_ending: Callable[[Problem], str]
    """The ending of a candidate's file in an export."""
    make_sample: Callable[[Problem, int], TriedSource]
    """A made-up answer for the preview, by its place from 0."""
    build_fields: Callable[[Problem], dict[str, Any]]
    """The fields of llm.records.Problem that only this form has."""
    score: Callable[[Problem, Sequence[str], AskModel | None, int, Callable[[], None]], list[Score]]
    """(problem, sources, model to ask if no rule decides, seed, stop check) -> a score for each source."""
