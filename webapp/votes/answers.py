"""Pairs of answers to a problem: the poll's own copy of both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import F, QuerySet

from simulation import catalog
from webapp.experiments.models import Candidate
from webapp.problems.lookup import find_problem
from webapp.problems.models import Attachment, Problem
from webapp.votes.models import Pair, Poll

OF_PROBLEM = (
    *("name", "title", "subject", "form", "language", "statement", "reference", "answer"),
    *("show_reference", "show_results"),
)
OF_ANSWER = ("source", "reason", "metric_trace")


def winners() -> QuerySet[Candidate]:
    """The answers with which experiments on problems ended, the newest first."""
    of = "iteration__experiment"
    found = Candidate.objects.filter(status=Candidate.Status.TRAINED, **{f"{of}__winner": F("pk")})
    return found.exclude(**{f"{of}__task__in": catalog.tasks()}).select_related(of).order_by(f"-{of}")


def problems(first: Candidate, second: Candidate) -> list[str]:
    """Why these two cannot be a pair."""
    tasks = {row.iteration.experiment.task for row in (first, second)}
    if len(tasks) > 1:
        return [f"the answers are to different problems ({', '.join(sorted(tasks))})."]
    if first == second:
        return ["both answers are the same."]
    if first.source.strip() == second.source.strip():
        return ["the two answers are the same, word for word: nobody could prefer one."]
    return []


def copied(first: Candidate, second: Candidate) -> dict[str, Any]:
    """All text that evaluators will read: later changes and deletions leave it alone. Files are the problem's own."""
    problem = find_problem(first.iteration.experiment.task)
    return {
        "problem": {name: getattr(problem, name) for name in OF_PROBLEM},
        "files": list(problem.attachments.values_list("pk", flat=True)),
        "first": _copied(first),
        "second": _copied(second),
    }


def _copied(row: Candidate) -> dict[str, Any]:
    kept = {name: getattr(row, name) for name in OF_ANSWER}
    trace = {name: row.metric_trace[name] for name in ("subtasks", "cases") if name in row.metric_trace}
    return {**kept, "metric_trace": trace}


def files_of(pair: Pair) -> list[Attachment | None]:
    """The problem's files in the order in which evaluators had them; None for one that has been removed since."""
    keys = pair.answers.get("files", ())
    there = Attachment.objects.in_bulk([key for key in keys if key is not None])
    return [there.get(key) for key in keys]


def votes_on(problem: Problem, **_: Any) -> tuple[str, list[str]]:
    """The open votes on answers to this problem, whose pages show its files."""
    shown = Poll.objects.filter(status=Poll.Status.OPEN, pairs__answers__problem__name=problem.name)
    return "open A/B vote", [poll.title for poll in shown.distinct().order_by("pk")]


def votes_showing(files: Iterable[Attachment], **_: Any) -> list[str]:
    """The titles of open votes whose pages show one of these files."""
    keys = {file.pk for file in files}
    pairs = Pair.objects.filter(poll__status=Poll.Status.OPEN).select_related("poll").order_by("pk")
    return [pair.poll.title for pair in pairs if keys & set(pair.answers.get("files", ()))]
