"""The page of the comprehension check: each person's own order of answers, and what was wrong in the last try."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from webapp.studies.comprehension import find_wrong, hash_questions, read_last_answers, shuffle_answers
from webapp.studies.models import Participant, Question
from webapp.studio.words import count_of


@dataclass(frozen=True)
class Answer:
    text: str
    kept: bool
    """Chosen in the last try, and right."""


@dataclass(frozen=True)
class Asked:
    """A question as one person sees it."""

    name: str
    """Of its form field."""
    text: str
    explanation: str
    answers: tuple[Answer, ...]
    wrong: bool
    """Answered wrongly in the last try."""


def page_context(participant: Participant, session: Mapping[str, Any]) -> dict[str, Any]:
    """What the page of the check needs; after a wrong try with what was wrong, and why."""
    questions = list(participant.study.questions.all())
    given = read_last_answers(session, participant)
    left = participant.study.most_attempts - participant.attempts
    return {
        "action": reverse("check", args=[participant.token]),
        "attempt": participant.attempts,
        "version": hash_questions(questions),
        "questions": [_asked(participant, question, given) for question in questions],
        "count": "one question" if len(questions) == 1 else f"{count_of(len(questions))} questions",
        "again": _said(len(find_wrong(questions, given))) if given else "",
        "left": _tries(left) if participant.attempts else "",
    }


def _asked(participant: Participant, question: Question, given: Mapping[str, str]) -> Asked:
    said = given.get(str(question.pk), "")
    right = said == question.correct_answer
    answers = tuple(Answer(text, right and text == said) for text in shuffle_answers(participant, question))
    return Asked(f"question-{question.pk}", question.text, question.explanation, answers, bool(given) and not right)


def _said(count: int) -> str:
    answers = "One answer was" if count == 1 else f"{count_of(count).capitalize()} answers were"
    return f"{answers} not right. Below it says why."


def _tries(left: int) -> str:
    return "This is the last try." if left == 1 else f"There are {count_of(left)} tries left."
