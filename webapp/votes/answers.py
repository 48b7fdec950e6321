"""Pairs of answers to a problem: the poll's own copy of both, and what its page shows of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import F, QuerySet
from django.http import Http404, HttpRequest, HttpResponseBase
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from simulation import catalog
from webapp.experiments.models import Candidate
from webapp.http import without_nul
from webapp.problems import markdown, pages
from webapp.problems.lookup import problem_named
from webapp.problems.models import Attachment, Problem
from webapp.problems.views import served
from webapp.votes.models import Pair, Poll, Showing

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
    problem = problem_named(first.iteration.experiment.task)
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


def page_context(pair: Pair, showing: Showing) -> dict[str, Any]:
    """The page of a pair: the problem, and its answers by the side on which this evaluator sees them."""
    copy: Mapping[str, Any] = pair.answers
    problem = Problem(**copy["problem"])
    sides = ("first", "second") if showing.first_left else ("second", "first")
    rows = [Candidate(**copy[side]) for side in sides]
    shown = [pages.answer(problem, row, letter, "ready") for letter, row in zip("AB", rows, strict=True)]
    files = Attachment.objects.filter(pk__in=copy["files"]).order_by("pk")
    return {
        "reading": True,
        "problem": problem,
        "statement": markdown.html(problem.statement),
        "attachments": [(row, reverse("pair_file", args=[showing.token, row.pk])) for row in files],
        "answers": list(zip(("left", "right"), shown, strict=True)),
        **pages.reference(problem),
    }


def files_of(pair: Pair) -> list[Attachment | None]:
    """The problem's files in the order in which evaluators had them; None for one that has been removed since."""
    keys = pair.answers.get("files", ())
    there = Attachment.objects.in_bulk([key for key in keys if key is not None])
    return [there.get(key) for key in keys]


def open_polls(problem: Problem) -> QuerySet[Poll]:
    """The open votes on answers to it, whose pages show its files."""
    shown = Poll.objects.filter(status=Poll.Status.OPEN, pairs__answers__problem__name=problem.name)
    return shown.distinct().order_by("pk")


def shown_in(files: Iterable[Attachment]) -> list[str]:
    """The titles of open votes whose pages show one of these files."""
    keys = {file.pk for file in files}
    pairs = Pair.objects.filter(poll__status=Poll.Status.OPEN).select_related("poll").order_by("pk")
    return [pair.poll.title for pair in pairs if keys & set(pair.answers.get("files", ()))]


@require_safe
@never_cache
def attachment(request: HttpRequest, token: str, number: int) -> HttpResponseBase:
    """A file of the problem, for the evaluator whose page this is."""
    inside = {"evaluator__withdrawn_at": None, "evaluator__poll__status": Poll.Status.OPEN}
    showing = Showing.objects.filter(token=without_nul(token), **inside).select_related("pair").first()
    row = Attachment.objects.filter(pk=number).first()
    if showing is None or row is None or number not in showing.pair.answers.get("files", ()):
        raise Http404
    return served(row)
