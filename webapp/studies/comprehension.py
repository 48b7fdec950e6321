"""The comprehension check: a study's questions, answers in an order of each person's own, wrong ones explained.

What was answered last lives in the browser's session until the next try; every try is also in the experiment's log.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, MutableMapping
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from webapp.experiments import events
from webapp.studies import assigning, enrolment
from webapp.studies.models import Participant, Question


def drawn(participant: Participant, question: Question) -> list[str]:
    """The answers in this person's order, which follows from the study's seed and the label."""
    answers = list(question.choices)
    random.Random(f"{participant.study.seed} answers {participant.label} {question.pk}").shuffle(answers)
    return answers


def given_in(posted: Mapping[str, str], participant: Participant, questions: list[Question]) -> dict[str, str]:
    """Question (primary key as text) -> the text of the answer chosen; those without a proper one are left out."""
    given = {}
    for question in questions:
        place, answers = posted.get(f"question-{question.pk}", ""), drawn(participant, question)
        if place.isdecimal() and len(place) <= 3 and int(place) < len(answers):
            given[str(question.pk)] = answers[int(place)]
    return given


def version(questions: list[Question]) -> str:
    """Which questions and answers a page shows: changes with every word of them."""
    words = json.dumps([(row.pk, row.text, row.choices) for row in questions])
    return hashlib.sha256(words.encode()).hexdigest()


def wrong(questions: list[Question], given: Mapping[str, str]) -> list[Question]:
    return [question for question in questions if given.get(str(question.pk)) != correct(question)]


def correct(question: Question) -> str:
    return question.choices[question.correct - 1]


def _key(participant: Participant) -> str:
    return f"check {participant.pk}"


def last_given(session: Mapping[str, Any], participant: Participant) -> dict[str, str]:
    """The answers of the last try, where this browser made it."""
    kept = session.get(_key(participant))
    return kept["given"] if isinstance(kept, dict) and kept.get("attempt") == participant.attempts else {}


def remember(session: MutableMapping[str, Any], participant: Participant, given: Mapping[str, str]) -> None:
    """Keep the answers of the try that was just counted."""
    session[_key(participant)] = {"attempt": participant.attempts, "given": dict(given)}


@transaction.atomic
def take(participant: Participant, questions: list[Question], given: Mapping[str, str]) -> bool:
    """Count one try; the last wrong one ends the person's part. False where it was counted already."""
    assigning.lock(participant.study_id)  # before the person's row, as everybody who leaves does
    failed = wrong(questions, given)
    mine = Participant.objects.filter(pk=participant.pk, attempts=participant.attempts, understood_at=None, outcome="")
    if not mine.update(attempts=F("attempts") + 1):
        return False
    participant.attempts += 1
    said = f"answered {len(failed)} of {len(questions)} questions wrongly" if failed else "understood the instructions"
    payload = {"attempt": participant.attempts, "given": dict(given), "wrong": [row.pk for row in failed]}
    if participant.experiment:
        events.emit(participant.experiment, "checked", f"{participant.label} {said}.", payload=payload)
    if not failed:
        Participant.objects.filter(pk=participant.pk).update(understood_at=timezone.now())
    elif participant.attempts >= participant.study.most_attempts:
        enrolment.fail(participant)
    return True
