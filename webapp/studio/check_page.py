"""The page of the comprehension check: answers in each person's own order, and the mistakes of the last attempt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from webapp.studies.comprehension import find_wrong, hash_questions, read_last_answers, shuffle_answers
from webapp.studies.models import Participant, Question
from webapp.studio.words import capitalize, spell_number


@dataclass(frozen=True)
class ShownAnswer:
    text: str
    kept: bool
    """Chosen in the last attempt, and right."""


@dataclass(frozen=True)
class ShownQuestion:
    """A question as one person sees it."""

    name: str
    """The name of its form field."""
    text: str
    explanation: str
    answers: tuple[ShownAnswer, ...]
    wrong: bool
    """Answered wrongly in the last attempt."""


def make_page_context(
    participant: Participant, questions: list[Question], session: Mapping[str, Any]
) -> dict[str, Any]:
    """The context of the check's page; after a wrong attempt with the mistakes and their explanations."""
    given = read_last_answers(session, participant)
    left = participant.study.most_attempts - participant.attempts
    return {
        "action": reverse("check", args=[participant.token]),
        "attempt": participant.attempts,
        "version": hash_questions(questions),
        "questions": [_make_question(participant, question, given) for question in questions],
        "count": _describe_count(len(questions)),
        "summary": _describe_wrong(len(find_wrong(questions, given))) if given else "",
        "attempts_left": _describe_attempts_left(left) if participant.attempts else "",
    }


def _make_question(participant: Participant, question: Question, given: Mapping[str, str]) -> ShownQuestion:
    chosen = given.get(str(question.pk), "")
    right = chosen == question.correct_answer
    answers = tuple(ShownAnswer(text, right and text == chosen) for text in shuffle_answers(participant, question))
    return ShownQuestion(
        f"question-{question.pk}", question.text, question.explanation, answers, bool(given) and not right
    )


def _describe_count(count: int) -> str:
    words = ngettext(
        "one question about what you just read, so that we know the instructions are good.",
        "%(count)s questions about what you just read, so that we know the instructions are good.",
        count,
    )
    return capitalize(words % {"count": spell_number(count)})


def _describe_wrong(count: int) -> str:
    words = ngettext(
        "one answer was not right. The reasons are below.",
        "%(count)s answers were not right. The reasons are below.",
        count,
    )
    return capitalize(words % {"count": spell_number(count)})


def _describe_attempts_left(left: int) -> str:
    if left == 1:
        return _("This is the last try.")
    return ngettext("There is %(count)s try left.", "There are %(count)s tries left.", left) % {
        "count": spell_number(left)
    }
