"""The comprehension check: a study's questions, with the answers in a different order for each person.

The browser's session keeps the answers of the last attempt; the experiment's log keeps every attempt.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, MutableMapping
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from webapp.experiments import events
from webapp.studies import assigning, enrolment
from webapp.studies.models import Participant, Question
from webapp.studies.texts import localizing


def list_questions(participant: Participant) -> list[Question]:
    """What this person is asked: what fits the arms that they are in."""
    return localizing.list_questions(participant.study, [place.arm for place in participant.places])


def shuffle_answers(participant: Participant, question: Question) -> list[str]:
    """The answers in this person's order, drawn from the study's seed and the label."""
    answers = list(question.choices)
    random.Random(f"{participant.study.seed} answers {participant.label} {question.pk}").shuffle(answers)
    return answers


def read_answers(posted: Mapping[str, str], participant: Participant, questions: list[Question]) -> dict[str, str]:
    """Question (primary key as text) -> the text of the chosen answer; a question without a valid one is left out."""
    given = {}
    for question in questions:
        place, answers = posted.get(f"question-{question.pk}", ""), shuffle_answers(participant, question)
        if place.isdecimal() and len(place) <= 3 and int(place) < len(answers):
            given[str(question.pk)] = answers[int(place)]
    return given


def hash_questions(questions: list[Question]) -> str:
    """A hash of every word of the questions and answers that a page shows."""
    content = json.dumps([(row.pk, row.text, row.choices) for row in questions])
    return hashlib.sha256(content.encode()).hexdigest()


def find_wrong(questions: list[Question], given: Mapping[str, str]) -> list[Question]:
    return [question for question in questions if given.get(str(question.pk)) != question.correct_answer]


def _make_session_key(participant: Participant) -> str:
    return f"check {participant.pk}"


def read_last_answers(session: Mapping[str, Any], participant: Participant) -> dict[str, str]:
    """The answers of the last attempt; empty if another browser made it."""
    kept = session.get(_make_session_key(participant))
    return kept["given"] if isinstance(kept, dict) and kept.get("attempt") == participant.attempts else {}


def save_answers(session: MutableMapping[str, Any], participant: Participant, given: Mapping[str, str]) -> None:
    """Keep the answers of the attempt that was just counted."""
    session[_make_session_key(participant)] = {"attempt": participant.attempts, "given": dict(given)}


@transaction.atomic
def record_attempt(participant: Participant, questions: list[Question], given: Mapping[str, str]) -> bool:
    """Count one attempt; the last wrong one ends the person's part. False if it was counted already."""
    assigning.lock_study(participant.study_id)  # before the person's row, in the same order as enrolment.withdraw
    failed = find_wrong(questions, given)
    mine = Participant.objects.filter(pk=participant.pk, attempts=participant.attempts, understood_at=None, outcome="")
    if not mine.update(attempts=F("attempts") + 1):
        return False
    participant.attempts += 1
    result = (
        f"answered {len(failed)} of {len(questions)} questions wrongly" if failed else "understood the instructions"
    )
    payload = {"attempt": participant.attempts, "given": dict(given), "wrong": [row.pk for row in failed]}
    if participant.experiment:
        events.emit(participant.experiment, "checked", f"{participant.label} {result}.", payload=payload)
    if not failed:
        Participant.objects.filter(pk=participant.pk).update(understood_at=Now())
    elif participant.attempts >= participant.study.most_attempts:
        enrolment.fail(participant)
    return True
