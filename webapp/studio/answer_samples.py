"""A participant's pages on a problem with made-up answers, for the preview: from unsaved rows, nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.urls import reverse

from llm.records import PROGRAM
from webapp.experiments.models import Candidate, LoopSettings
from webapp.experiments.progress import Progress
from webapp.problems.models import Problem
from webapp.studio import answer_pages
from webapp.studio.answer_words import END, meanwhile, wait_of

REASONING = (
    "This text stands where an answer's reasoning will be. It may have formulas,\n\n$$\\sum_{k=1}^{n} k = "
    "\\frac{n (n + 1)}{2},$$\n\nlists and tables.",
    "A shorter text in place of the reasoning.",
    "Another text in place of the reasoning, with $x^2$ in a line.",
)
CODE = "# This text stands where a program will be.\nprint(sum(map(int, input().split())))\n"


def context(name: str, given: dict[str, Any], plan: LoopSettings, now: Progress) -> dict[str, Any]:
    """What the page of this name shows beside, or in place of, what is given for films."""
    problem = plan.task_info
    assert isinstance(problem, Problem)
    if name == "practice":
        return answer_pages.practised(given)
    shared = {**answer_pages.stated(problem), "attachments": _files(problem)}
    if name == "waiting":
        return {**shared, "clips": [], "now": wait_of(now)}
    if name == "instruction":
        return {**shared, "meanwhile": meanwhile(now)}
    if name == "review":
        letters = [tile.letter for tile in given["tiles"]]
        return {**shared, **answer_pages.ballot(problem, given, _answers(problem, letters))}
    if name == "thanks":
        [answer] = _answers(problem, [""])
        return {**shared, "answer": answer, "end": END}
    return shared


def _files(problem: Problem) -> list[tuple[Any, str]]:
    return [(row, reverse("admin:problems_attachment", args=[row.pk])) for row in problem.attachments.all()]


def _answers(problem: Problem, letters: Sequence[str]) -> list[answer_pages.Answer]:
    return [answer_pages.answer(problem, _row(problem, place), letter, "ready") for place, letter in enumerate(letters)]


def _row(problem: Problem, place: int) -> Candidate:
    """A candidate that is not in the database."""
    if problem.form == PROGRAM:
        return Candidate(source=CODE, metric_trace=_tried(problem))
    final, *rest = problem.sections
    parts = [f"## {final}\n\n${place + 1}$", *(f"## {title}\n\n{REASONING[place % 3]}" for title in rest)]
    return Candidate(source="\n\n".join(parts))


def _tried(problem: Problem) -> dict[str, Any]:
    """As if every case of every subtask had gone well."""
    points = problem.points() or {1: 1.0}
    right = {"passed": 1, "cases": 1}
    subtasks = [{"number": number, "points": value, "earned": value, **right} for number, value in points.items()]
    cases = [{"subtask": number, "verdict": "ok", "seconds": 0.1, "memory_mb": 20, "note": ""} for number in points]
    return {"subtasks": subtasks, "cases": cases}
