"""What an evaluator is asked about a pair: the poll's own question, else that of the pair's task."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext, gettext_noop

from simulation import catalog
from webapp.problems.models import Problem
from webapp.votes.models import Pair, Poll

OF_UNKNOWN_TASK = gettext_noop("Which robot does its task better?")
OF_RATED = gettext_noop("Does the robot do this?")
OF_GRADED = gettext_noop("How many points does this answer deserve?")
OF_FORMS = {
    Problem.Form.ANSWER: gettext_noop("Which answer to the problem is better?"),
    Problem.Form.PROGRAM: gettext_noop("Which program solves the problem better?"),
}
"""By the form of a problem's solutions."""


def find_question(poll: Poll, pair: Pair) -> str:
    """The question above a pair; in the reader's language where the poll has none of its own."""
    return poll.question or gettext(pair.question or write_question(pair))


def list_questions(poll: Poll, pairs: Iterable[Pair]) -> list[str]:
    """Every question of the poll once, in English where it is a task's."""
    return list(dict.fromkeys(poll.question or pair.question or write_question(pair) for pair in pairs))


def write_question(pair: Pair) -> str:
    """The question of the pair's task, in English."""
    if pair.poll.is_single:
        return OF_RATED if pair.poll.form == Poll.Form.RATINGS else OF_GRADED
    clip = pair.first or pair.second
    candidate = pair.first_answer or pair.second_answer or (clip and clip.candidate)
    task = candidate.iteration.experiment.task if candidate else ""
    if task in catalog.list_tasks():
        return catalog.get_task(task).question
    problem = Problem.objects.filter(name=task).first()
    return OF_FORMS[Problem.Form(problem.form)] if problem else OF_UNKNOWN_TASK
