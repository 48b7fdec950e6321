"""Pairs of answers to a problem, and the poll's own copy of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import F, QuerySet

from simulation import catalog
from webapp.experiments.models import Candidate
from webapp.problems.answer_scores import FINAL_ANSWER
from webapp.problems.lookup import find_problem
from webapp.problems.models import Attachment, Problem
from webapp.votes.models import Pair, Poll

OF_PROBLEM = (
    *("name", "title", "subject", "form", "language", "statement", "reference", "answer"),
    *("show_reference", "show_results"),
)
OF_ANSWER = ("source", "reason", "metric_trace")


def find_winners() -> QuerySet[Candidate]:
    """The winning answers of experiments on problems, the newest first."""
    path = "iteration__experiment"
    found = Candidate.objects.filter(status=Candidate.Status.TRAINED, **{f"{path}__winner": F("pk")})
    return found.exclude(**{f"{path}__task__in": catalog.list_tasks()}).select_related(path).order_by(f"-{path}")


def find_problems(first: Candidate, second: Candidate) -> list[str]:
    """Why these two cannot be a pair."""
    tasks = {row.iteration.experiment.task for row in (first, second)}
    if len(tasks) > 1:
        return [f"the answers are to different problems ({', '.join(sorted(tasks))})."]
    if first == second:
        return ["both answers are the same."]
    if first.source.strip() == second.source.strip():
        return ["the two answers are the same, word for word: nobody could prefer one."]
    return []


def copy_answers(first: Candidate, second: Candidate | None = None) -> dict[str, Any]:
    """A copy of all text that evaluators will read, which later changes do not affect. Files are not copied. Where one
    answer at a time is graded there is no second.
    """
    problem = find_problem(first.iteration.experiment.task)
    return {
        "problem": {name: getattr(problem, name) for name in OF_PROBLEM},
        "files": list(problem.attachments.values_list("pk", flat=True)),
        "first": _copy_answer(first),
        **({"second": _copy_answer(second)} if second else {}),
    }


def _copy_answer(row: Candidate) -> dict[str, Any]:
    kept = {name: getattr(row, name) for name in OF_ANSWER}
    trace = {name: row.metric_trace[name] for name in ("subtasks", "cases", FINAL_ANSWER) if name in row.metric_trace}
    return {**kept, "metric_trace": trace}


def find_files(pair: Pair) -> list[Attachment | None]:
    """The problem's files in the order in which evaluators saw them; None for one that has been removed since."""
    keys = pair.answers.get("files", ())
    files = Attachment.objects.in_bulk([key for key in keys if key is not None])
    return [files.get(key) for key in keys]


def find_polls_on(problem: Problem, **_: Any) -> tuple[str, list[str]]:
    """The open votes on answers to this problem, whose pages show its files."""
    polls = Poll.objects.filter(status=Poll.Status.OPEN, pairs__answers__problem__name=problem.name)
    return "open vote", [poll.title for poll in polls.distinct().order_by("pk")]


def find_polls_showing(files: Iterable[Attachment], **_: Any) -> list[str]:
    """The titles of open votes whose pages show one of these files."""
    keys = {file.pk for file in files}
    pairs = Pair.objects.filter(poll__status=Poll.Status.OPEN).select_related("poll").order_by("pk")
    return [pair.poll.title for pair in pairs if keys & set(pair.answers.get("files", ()))]
