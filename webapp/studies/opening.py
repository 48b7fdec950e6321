"""Opening and closing a study, and who may enter it."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from webapp.base.database import read_now
from webapp.experiments.models import Experiment
from webapp.studies import assigning
from webapp.studies.models import Arm, Participant, Study
from webapp.studies.questionnaires.editing import find_study_faults

SHORTEST_CONSENT = 40


def find_problems(study: Study) -> list[str]:
    """Why the study cannot be opened, in words for the experimenter."""
    return [text for part in find_problems_by_part(study).values() for text in part]


def find_problems_by_part(study: Study) -> dict[str, list[str]]:
    """The same by the part of the set-up that they belong to: compare, people, texts or end."""
    if hasattr(study, "origin"):
        return {"compare": ["It was imported and is read only. Set up a new study to run it again."]}
    return {
        "texts": [*_check_texts(study), *_check_questions(study), *find_study_faults(study)],
        "end": [*_check_ethics(study), *_check_times(study)],
        "compare": list(_check_arms(study)),
        "people": list(_check_numbers(study)),
    }


def _check_texts(study: Study) -> Iterator[str]:
    if len(study.consent_text.strip()) < SHORTEST_CONSENT:
        yield "The consent text is empty, or too short to be one."
    if not study.contact.strip():
        yield "Name a contact that participants can write to."
    elif not study.demonstration and not is_reachable(study.contact):
        yield "The contact has no address: give an e-mail address, telephone number or page beside the name."


def is_reachable(contact: str) -> bool:
    """Whether the contact has an e-mail address, a page or a telephone number."""
    return "@" in contact or "://" in contact or len(re.findall(r"\d", contact)) >= 5


def _check_ethics(study: Study) -> Iterator[str]:
    if study.demonstration:
        return
    if not study.ethics_protocol.strip():
        yield "Name the ethics protocol that allows this study. (A demonstration needs none.)"
    if study.ethics_expires_on is None:
        yield "Say until when the ethics protocol is valid."
    elif study.ethics_expires_on < timezone.localdate():
        yield f"The ethics protocol expired on {study.ethics_expires_on:%-d %B %Y}."


def _check_arms(study: Study) -> Iterator[str]:
    arms = list(study.arms.all())
    if not arms:
        yield "Add at least one arm: what is learnt, by which method."
    for arm in arms:
        yield from (f"Arm {arm.name}: {words}" for words in _check_arm(arm))


def _check_arm(arm: Arm) -> list[str]:
    try:
        arm.clean()
    except ValidationError as error:
        return list(error.messages)
    if arm.quota is not None and arm.quota < arm.panel:
        return [f"its quota of {arm.quota} does not fill one panel of {arm.panel}."]
    return []


def _check_numbers(study: Study) -> Iterator[str]:
    arms = list(study.arms.all())
    if study.quota is not None and 1 < study.quota < min((arm.panel for arm in arms), default=1):
        yield f"The quota of {study.quota} does not fill one panel."
    room = [arm.quota for arm in arms if arm.quota is not None]
    needed = (study.quota or 0) * min(study.experiments_each, len(arms))
    if len(room) == len(arms) and sum(room) < needed:
        yield f"The arms' quotas leave room for fewer people than the study's quota of {study.quota}."
    if study.assignment == Study.Assigning.BY_HAND and (study.recruiting or study.demonstration):
        yield "Places are given by hand, but the open link lets in people who have none."


def _check_times(study: Study) -> Iterator[str]:
    if study.opens_at and study.closes_at and study.closes_at <= study.opens_at:
        yield "It would close before it opens."
    if study.closes_at and study.closes_at <= read_now():
        yield "The time when it closes has passed."


def _check_questions(study: Study) -> Iterator[str]:
    for question in study.questions.all():
        if not 1 <= question.correct <= len(question.choices) or len(question.choices) < 2:
            yield f"The question “{question.text}” has no correct answer among its answers."


@transaction.atomic
def open_study(study: Study) -> list[str]:
    """Let people in. Returns the problems that prevent it; empty when it is open."""
    row = assigning.lock_study(study.pk)
    problems = find_problems(row)
    if not problems:
        row.publish_consent()
        Study.objects.filter(pk=row.pk).update(status=Study.Status.OPEN, closed_at=None)
        study.status, study.closed_at = Study.Status.OPEN, None
    return problems


def close_study(study: Study) -> list[str]:
    """Let nobody new in; participants go on. Returns no problems: a study can always be closed."""
    now = timezone.now()
    Study.objects.filter(pk=study.pk).exclude(status=Study.Status.CLOSED).update(
        status=Study.Status.CLOSED, closed_at=now
    )
    study.refresh_from_db(fields=["status", "closed_at"])
    return []


def count_active(study: Study) -> int:
    """How many participants have begun and have not ended, whether the study is open or not."""
    return find_active(study).count()


def find_active(study: Study) -> QuerySet[Participant]:
    people = study.participants.exclude_pilots()
    return people.filter(consented_at__isnull=False, outcome="", withdrawn_at=None)


def count_stranded(study: Study) -> int:
    """How many panels wait for more people although nobody new gets in, or nobody into their arm."""
    waiting = Experiment.objects.filter(status=Experiment.Status.DRAFT, assignments__participant__in=find_active(study))
    if find_closed_reason(study) in ("", Study.Status.DRAFT, "early"):
        full = [arm.pk for arm in study.arms.all() if arm.panel > 1 and not assigning.has_room(arm)]
        waiting = waiting.filter(assignments__arm__in=full)
    return waiting.distinct().count()


def find_closed_reason(study: Study) -> str:
    """Why nobody new may consent now: draft, closed, early, late, expired or full. Empty if people may."""
    if study.status != Study.Status.OPEN:
        return str(study.status)
    now = read_now() if study.opens_at or study.closes_at else timezone.now()
    if study.opens_at and now < study.opens_at:
        return "early"
    if study.closes_at and now >= study.closes_at:
        return "late"
    if not study.demonstration and _is_ethics_expired(study, timezone.localdate(now)):
        return "expired"
    if study.quota is not None and assigning.find_enrolled(study).count() >= study.quota:
        return "full"
    return ""


def find_refusal(participant: Participant) -> str:
    """Why this person may not consent now: as find_closed_reason, or unassigned. Empty if they may.

    A pilot may consent as long as the study is not closed.
    """
    reason = find_closed_reason(participant.study)
    if participant.pilot and reason != Study.Status.CLOSED:
        reason = ""
    if reason or assigning.plan_places(participant):
        return reason
    return "unassigned" if participant.study.assignment == Study.Assigning.BY_HAND else "full"


def _is_ethics_expired(study: Study, today: dt.date) -> bool:
    return study.ethics_expires_on is None or study.ethics_expires_on < today
