"""Answers in a word, where the bench shows a robot's film."""

from __future__ import annotations

from django import template

from llm.reasoning import extract
from llm.records import PROGRAM
from webapp.experiments.models import LoopSettings
from webapp.problems.models import Problem
from webapp.problems.practice import SAMPLES

register = template.Library()
LETTERS = 120


@register.filter
def practice_words(name: str) -> str:
    """What one sees in a practice answer, by the name of the clip in whose place it stands."""
    return SAMPLES[name].words


@register.filter
def gist(source: str, experiment: LoopSettings) -> str:
    """The final answer as text; of a program its length."""
    problem = experiment.task_info
    if not isinstance(problem, Problem) or problem.form == PROGRAM:
        return f"{len(source.splitlines())} lines"
    final = extract.final_answer(source, problem.sections) or ""
    return final if len(final) <= LETTERS else final[:LETTERS] + " ..."
