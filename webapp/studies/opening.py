"""A study's way from draft to open to closed, and whom it lets in."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from webapp.experiments.models import Experiment
from webapp.studies import assigning
from webapp.studies.models import Arm, Participant, Study

SHORTEST_CONSENT = 40


def problems(study: Study) -> list[str]:
    """What stands against opening, in words for the experimenter."""
    if hasattr(study, "origin"):
        return ["It was imported, to look at. Set up a study of its own to run it again."]
    return [*_texts(study), *_ethics(study), *_arms(study), *_numbers(study)]


def _texts(study: Study) -> Iterator[str]:
    if len(study.consent_text.strip()) < SHORTEST_CONSENT:
        yield "The consent text is empty, or too short to be one."
    if not study.contact.strip():
        yield "Name a contact whom participants can write to."
    elif not study.demonstration and not reachable(study.contact):
        yield "The contact has no address: give an e-mail address, telephone number or page beside the name."


def reachable(contact: str) -> bool:
    """Whether it says how, not only whom: an e-mail address, a page or a telephone number."""
    return "@" in contact or "://" in contact or len(re.findall(r"\d", contact)) >= 5


def _ethics(study: Study) -> Iterator[str]:
    if study.demonstration:
        return
    if not study.ethics_protocol.strip():
        yield "Name the ethics protocol that allows this study. (A demonstration needs none.)"
    if study.ethics_expires_on is None:
        yield "Say until when the ethics protocol is valid."
    elif study.ethics_expires_on < timezone.localdate():
        yield f"The ethics protocol expired on {study.ethics_expires_on:%-d %B %Y}."


def _arms(study: Study) -> Iterator[str]:
    arms = list(study.arms.all())
    if not arms:
        yield "Add at least one arm: what is learnt, by which method."
    for arm in arms:
        yield from (f"Arm {arm.name}: {words}" for words in _problems_of(arm))


def _problems_of(arm: Arm) -> list[str]:
    try:
        arm.clean()
    except ValidationError as error:
        return list(error.messages)
    if arm.quota is not None and arm.quota < arm.panel:
        return [f"its quota of {arm.quota} does not fill one panel of {arm.panel}."]
    return []


def _numbers(study: Study) -> Iterator[str]:
    arms = list(study.arms.all())
    if study.quota is not None and 1 < study.quota < min((arm.panel for arm in arms), default=1):
        yield f"The quota of {study.quota} does not fill one panel."
    room = [arm.quota for arm in arms if arm.quota is not None]
    needed = (study.quota or 0) * min(study.experiments_each, len(arms))
    if len(room) == len(arms) and sum(room) < needed:
        yield f"The arms' quotas leave room for fewer people than the study's quota of {study.quota}."
    if study.opens_at and study.closes_at and study.closes_at <= study.opens_at:
        yield "It would close before it opens."
    if study.closes_at and study.closes_at <= timezone.now():
        yield "The time when it closes has passed."
    if study.assignment == Study.Assigning.BY_HAND and (study.recruiting or study.demonstration):
        yield "Places are given by hand, but the open link lets in people whom nobody gave one."
    for question in study.questions.all():
        if not 1 <= question.correct <= len(question.choices) or len(question.choices) < 2:
            yield f"The question “{question.text}” has no correct answer among its answers."


@transaction.atomic
def open_study(study: Study) -> list[str]:
    """Let people in. Returns what stands against it; empty when it is open."""
    row = assigning.lock(study.pk)
    found = problems(row)
    if not found:
        row.publish_consent()
        Study.objects.filter(pk=row.pk).update(status=Study.Status.OPEN, closed_at=None)
        study.status, study.closed_at = Study.Status.OPEN, None
    return found


def close_study(study: Study) -> list[str]:
    """Nobody new gets in, those inside go on. Nothing stands against it."""
    now = timezone.now()
    Study.objects.filter(pk=study.pk).exclude(status=Study.Status.CLOSED).update(
        status=Study.Status.CLOSED, closed_at=now
    )
    study.refresh_from_db(fields=["status", "closed_at"])
    return []


def inside(study: Study) -> int:
    """How many have begun and go on, whether the study is open or not."""
    return inside_of(study).count()


def inside_of(study: Study) -> QuerySet[Participant]:
    return study.participants.filter(consented_at__isnull=False, outcome="", withdrawn_at=None)


def stranded(study: Study) -> int:
    """How many panels wait for more people although nobody new gets in, or none into their arm."""
    waiting = Experiment.objects.filter(status=Experiment.Status.DRAFT, assignments__participant__in=inside_of(study))
    if turned_away(study) in ("", Study.Status.DRAFT, "early"):
        full = [arm.pk for arm in study.arms.all() if arm.panel > 1 and not assigning.room(arm)]
        waiting = waiting.filter(assignments__arm__in=full)
    return waiting.distinct().count()


def turned_away(study: Study) -> str:
    """Why nobody new may consent now: draft, closed, early, late, expired or full. Empty: somebody may."""
    now, today = timezone.now(), timezone.localdate()
    if study.status != Study.Status.OPEN:
        return str(study.status)
    if study.opens_at and now < study.opens_at:
        return "early"
    if study.closes_at and now >= study.closes_at:
        return "late"
    if not study.demonstration and _expired(study, today):
        return "expired"
    if study.quota is not None and assigning.taken(study).count() >= study.quota:
        return "full"
    return ""


def refusal(participant: Participant) -> str:
    """Why this person may not consent now: as turned_away, or unassigned. Empty: they may."""
    reason = turned_away(participant.study)
    if reason or assigning.places(participant):
        return reason
    return "unassigned" if participant.study.assignment == Study.Assigning.BY_HAND else "full"


def _expired(study: Study, today: dt.date) -> bool:
    return study.ethics_expires_on is None or study.ethics_expires_on < today
