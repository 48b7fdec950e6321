"""A program, with its results where reviewers may see them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llm import records
from webapp.problems import scoring
from webapp.problems.forms.form import Form, Text, Tried
from webapp.problems.models import Problem

ENDINGS = {"cpp": "cpp", "python": "py"}
VERDICTS = {
    "ok": "right",
    "wrong": "wrong output",
    "time": "too slow",
    "memory": "too much memory",
    "output": "too much output",
    "crash": "stopped by an error",
}
CODE = "# This text stands where a program will be.\nprint(sum(map(int, input().split())))\n"


def text(problem: Problem, tried: Tried) -> Text:
    return Text(code=tried.source, said=tried.reason, subtasks=tuple(results(tried) if problem.show_results else ()))


def results(tried: Tried) -> Iterator[dict[str, Any]]:
    """Each subtask with what became of its cases."""
    cases = tried.details.get("cases", ())
    for subtask in tried.details.get("subtasks", ()):
        own = [case for case in cases if case["subtask"] == subtask["number"]]
        yield {**subtask, "verdicts": [{**case, "words": VERDICTS[case["verdict"]]} for case in own]}


def gist(problem: Problem, source: str) -> str:
    return f"{len(source.splitlines())} lines"


def sample(problem: Problem, place: int) -> Tried:
    """As if every case of every subtask had gone well."""
    points = problem.points() or {1: 1.0}
    right = {"passed": 1, "cases": 1}
    subtasks = [{"number": number, "points": value, "earned": value, **right} for number, value in points.items()]
    cases = [{"subtask": number, "verdict": "ok", "seconds": 0.1, "memory_mb": 20, "note": ""} for number in points]
    return Tried(CODE, details={"subtasks": subtasks, "cases": cases})


FORM = Form(
    name=records.PROGRAM,
    text=text,
    gist=gist,
    ending=lambda problem: ENDINGS[problem.language],
    sample=sample,
    stated=lambda problem: {"language": problem.language},
    score=lambda problem, sources, ask, seed, stop_check: scoring.programs(problem, sources, stop_check),
)
