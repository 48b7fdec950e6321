"""The kinds of problems: rewards, written answers and programs, each with a file."""

from __future__ import annotations

from llm.forms.answer import Answer
from llm.forms.form import Form
from llm.forms.program import Program
from llm.forms.reward import Reward
from llm.records import ANSWER, PROGRAM, REWARD, Problem

FORMS: dict[str, type[Form]] = {REWARD: Reward, ANSWER: Answer, PROGRAM: Program}


def find_form(problem: Problem) -> Form:
    """How this problem and its candidates are put into words, tried and read. Raises KeyError for an unknown form."""
    return FORMS[problem.form](problem)
