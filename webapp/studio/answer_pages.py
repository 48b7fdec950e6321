"""A participant's pages where answers are read in place of films: the same states, other words and templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.safestring import SafeString

from llm.methods import METHODS
from llm.reasoning import answer_parts
from llm.records import PROGRAM
from webapp.experiments import progress
from webapp.experiments.models import Candidate, Experiment
from webapp.problems import markdown
from webapp.problems.models import Problem
from webapp.review import tags
from webapp.studio import answer_practice
from webapp.studio.answer_words import END, VERDICTS, ask_of, meanwhile, wait_for_the_end, wait_of

KIND = "answers_"
"""In front of the names of the templates."""


@dataclass(frozen=True)
class Part:
    """A section of an answer."""

    title: str
    html: SafeString


@dataclass(frozen=True)
class Answer:
    """One answer as a page shows it. Says nothing about how it came about, or of whom it is."""

    letter: str
    status: str
    final: SafeString
    parts: tuple[Part, ...] = ()
    code: str = ""
    said: str = ""
    """The compiler's words."""
    subtasks: tuple[dict[str, Any], ...] = ()


def context(name: str, given: dict[str, Any], experiment: Experiment, token: str) -> dict[str, Any]:
    """What the page of this name shows beside, or in place of, what is given for films."""
    problem = experiment.task_info
    assert isinstance(problem, Problem)
    if name == "practice":
        return practised(given)
    shared = stated(problem)
    shared["attachments"] = [(row, reverse("attachment", args=[token, row.pk])) for row in problem.attachments.all()]
    if name == "waiting":
        now = progress.of(experiment)
        over = experiment.iterations.filter(number=experiment.n).exclude(best=None).exists()
        end = wait_for_the_end(METHODS[experiment.method].chooses)
        return {**shared, "clips": [], "now": end if over else wait_of(now)}
    if name == "instruction":
        return {**shared, "meanwhile": meanwhile(progress.of(experiment))}
    if name == "review":
        shown = {tile.letter: tile for tile in given["tiles"]}
        rows = dict(zip(shown, _rows(given["screening"].order), strict=True))
        read = [answer(problem, rows[letter], letter, shown[letter].status) for letter in shown]
        return {**shared, **ballot(problem, given, read)}
    winner = experiment.winner
    if name == "thanks" and winner:
        return {**shared, "answer": answer(problem, winner, "", "ready"), "end": END}
    return shared


def stated(problem: Problem) -> dict[str, Any]:
    return {"problem": problem, "statement": markdown.html(problem.statement)}


def ballot(problem: Problem, given: dict[str, Any], read: Sequence[Answer]) -> dict[str, Any]:
    """A page on which these answers are judged."""
    return {
        "answers": read,
        "ask": ask_of(given["final"], given["pair"], len(read)),
        "tags_best": tags.ANSWERS_BEST,
        "tags_worst": tags.ANSWERS_WORST,
        **reference(problem),
    }


def practised(given: dict[str, Any]) -> dict[str, Any]:
    """The practice trial: answers that everybody ranks alike in place of the clips of which that is true."""
    texts = answer_practice.texts(given["tiles"])
    read = [answer(answer_practice.PROBLEM, Candidate(source=text), letter, "ready") for letter, text in texts.items()]
    return {**answer_practice.context(len(read)), "answers": read}


def _rows(order: list[int]) -> list[Candidate]:
    rows = Candidate.objects.in_bulk(order)
    return [rows[pk] for pk in order]


def reference(problem: Problem) -> dict[str, SafeString]:
    """The solution, where reviewers may see it."""
    if not problem.show_reference:
        return {}
    final = markdown.formula(problem.answer) if problem.answer else SafeString("")
    return {"reference_answer": final, "reference": markdown.html(problem.reference)}


def answer(problem: Problem, row: Candidate, letter: str, status: str) -> Answer:
    """This candidate for people: the final answer in front, the rest by section; a program with its results."""
    if problem.form == PROGRAM:
        results = row.metric_trace.get("subtasks", ()) if problem.show_results else ()
        return Answer(letter, status, SafeString(""), (), row.source, row.reason, tuple(_results(row, results)))
    final = answer_parts.final_answer(row.source, problem.sections) or ""
    named = answer_parts.final_section(row.source, problem.sections)
    parts = [part for part in answer_parts.sections(row.source) if part != named]
    shown = tuple(Part(part.title or "Introduction", markdown.html(part.text)) for part in parts if part.text)
    return Answer(letter, status, markdown.formula(final), shown)


def _results(row: Candidate, subtasks: Any) -> list[dict[str, Any]]:
    cases = row.metric_trace.get("cases", ())
    return [
        {
            **subtask,
            "verdicts": [
                {**case, "words": VERDICTS[case["verdict"]]} for case in cases if case["subtask"] == subtask["number"]
            ],
        }
        for subtask in subtasks
    ]
