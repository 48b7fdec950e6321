"""A program, with its test results if reviewers may see them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from llm import records
from webapp.problems import answer_scores
from webapp.problems.forms.form import Form, Text, TriedSource
from webapp.problems.models import Problem

ENDINGS = {"cpp": "cpp", "python": "py"}
VERDICTS = {
    "ok": gettext_noop("right"),
    "part": gettext_noop("partly right"),
    "wrong": gettext_noop("wrong output"),
    "time": gettext_noop("too slow"),
    "memory": gettext_noop("too much memory"),
    "output": gettext_noop("too much output"),
    "crash": gettext_noop("stopped by an error"),
}
CODE = "# This text stands where a program will be.\nprint(sum(map(int, input().split())))\n"


def build_text(problem: Problem, tried: TriedSource) -> Text:
    subtasks = tuple(list_results(tried)) if problem.show_results else ()
    return Text(code=tried.source, compiler_message=tried.reason, subtasks=subtasks)


def list_results(tried: TriedSource) -> Iterator[dict[str, Any]]:
    """Each subtask with the verdicts on its cases."""
    cases = tried.details.get("cases", ())
    for subtask in tried.details.get("subtasks", ()):
        own = [case for case in cases if case["subtask"] == subtask["number"]]
        yield {**subtask, "verdicts": [{**case, "words": _(VERDICTS[case["verdict"]])} for case in own]}


def build_fields(problem: Problem) -> dict[str, Any]:
    harness = problem.harness
    return {"language": problem.language, "header": harness.header, "header_name": harness.header_name}


def summarize(problem: Problem, tried: TriedSource) -> str:
    return f"{len(tried.source.splitlines())} lines"


def make_sample(problem: Problem, place: int) -> TriedSource:
    """A program that passed every case."""
    points = problem.points() or {1: 1.0}
    right = {"passed": 1, "cases": 1}
    subtasks = [{"number": number, "points": value, "earned": value, **right} for number, value in points.items()]
    cases = [{"subtask": number, "verdict": "ok", "seconds": 0.1, "memory_mb": 20, "note": ""} for number in points]
    return TriedSource(CODE, details={"subtasks": subtasks, "cases": cases})


FORM = Form(
    name=records.PROGRAM,
    build_text=build_text,
    summarize=summarize,
    get_ending=lambda problem: ENDINGS[problem.language],
    make_sample=make_sample,
    build_fields=build_fields,
    score=lambda problem, sources, ask, seed, stop_check: answer_scores.score_programs(problem, sources, stop_check),
)
