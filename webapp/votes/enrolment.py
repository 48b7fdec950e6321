"""An evaluator's way in and out, and the drawing of sides and orders."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from webapp.audit import record
from webapp.votes.models import Evaluator, Poll, Showing, Vote
from webapp.votes.opening import lock

ABANDONED = timedelta(hours=2)
"""An evaluator who agreed longer ago and has not finished keeps no place in the balance of sides."""
LONGEST_ID = 64


@transaction.atomic
def invite(poll: Poll, count: int) -> list[Evaluator]:
    """Personal links: E01, E02 ... after the highest number that was given."""
    poll = lock(poll.pk)
    people = [Evaluator(poll=poll, label=f"E{number:02d}") for number in _numbers(poll, count)]
    return Evaluator.objects.bulk_create(people)


def _numbers(poll: Poll, count: int) -> range:
    """Numbers of new labels. The caller holds the poll's lock."""
    labels = Evaluator.objects.filter(poll=poll, label__regex=r"^[ER]\d+$").values_list("label", flat=True)
    first = max([poll.labels_given, *(int(label[1:]) for label in labels)]) + 1
    Poll.objects.filter(pk=poll.pk).update(labels_given=first + count - 1)
    return range(first, first + count)


@dataclass(frozen=True)
class Arrival:
    """With what somebody came by the open link."""

    external_id: str
    """The recruitment site's name for the person; empty where it says none."""
    tokens: Sequence[str]
    """The personal links of a person who comes by the open link (recruitment.tokens_of): the first is a newcomer's."""
    remembered: str = ""
    """The personal link with which somebody began in this browser, perhaps another person."""


def known(poll: Poll, came: Arrival) -> Evaluator | None:
    """Who they are already, also when they have left. An id alone, which many know, makes nobody known."""
    theirs = Q(token__in=came.tokens) | Q(token=came.remembered, external_id=came.external_id)
    return Evaluator.objects.filter(theirs, poll=poll).first()


def elsewhere(poll: Poll, came: Arrival) -> bool:
    """Whether the id of somebody who is not known is one that began in another browser."""
    return came.external_id != "" and Evaluator.objects.filter(poll=poll, external_id=came.external_id).exists()


@transaction.atomic
def newcomer(poll: Poll, came: Arrival) -> Evaluator | None:
    """Somebody who came by the open link, once however often they press; None where the id began elsewhere, or nobody
    new can get in any more.
    """
    poll = lock(poll.pk)
    before = known(poll, came)
    if before or elsewhere(poll, came) or not (poll.recruiting and poll.status == Poll.Status.OPEN):
        return before
    [number] = _numbers(poll, 1)
    person = {"label": f"R{number:02d}", "external_id": came.external_id, "token": came.tokens[0]}
    return Evaluator.objects.create(poll=poll, **person)


@transaction.atomic
def consent(evaluator: Evaluator) -> None:
    """Store what was agreed to, and draw what this person will see, as long as the poll is open. Agreeing twice draws
    nothing twice.
    """
    poll = lock(evaluator.poll_id)
    if poll.status != Poll.Status.OPEN:
        return
    now = timezone.now()
    agreed = Evaluator.objects.filter(pk=evaluator.pk, consented_at=None, withdrawn_at=None).update(
        consented_at=now, consent_version=poll.consent_version, consent_hash=poll.consent_hash, slot=_free_slot(poll)
    )
    if agreed:
        evaluator.refresh_from_db()
        Showing.objects.bulk_create(_showings(poll, evaluator))


def _free_slot(poll: Poll) -> int:
    """The lowest place that nobody who is done or on the way holds."""
    here = Q(finished_at__isnull=False) | Q(consented_at__gte=timezone.now() - ABANDONED)
    taken = set(_standing(poll).filter(here, slot__isnull=False).values_list("slot", flat=True))
    return next(slot for slot in range(len(taken) + 1) if slot not in taken)


def _standing(poll: Poll) -> QuerySet[Evaluator]:
    return Evaluator.objects.filter(poll=poll, withdrawn_at=None)


def _showings(poll: Poll, evaluator: Evaluator) -> list[Showing]:
    """Every pair once, in an order of this evaluator's own."""
    slot = evaluator.slot or 0
    pairs = list(poll.pairs.all())
    random.Random(f"{poll.seed} order {slot}").shuffle(pairs)
    return [
        Showing(evaluator=evaluator, pair=pair, position=place, first_left=first_left(poll.seed, pair.position, slot))
        for place, pair in enumerate(pairs, 1)
    ]


def first_left(seed: int, pair: int, slot: int) -> bool:
    """Whether a pair's first clip is on the left: drawn for every second slot, the other way round for the next."""
    drawn = random.Random(f"{seed} sides {pair} {slot // 2}").random() < 0.5
    return drawn != bool(slot % 2)


@transaction.atomic
def withdraw(evaluator: Evaluator) -> bool:
    """Leave while the poll is open: what was answered is deleted. False afterwards: then it is part of a result."""
    poll = lock(evaluator.poll_id)
    if poll.status == Poll.Status.CLOSED:
        return False
    if Evaluator.objects.filter(pk=evaluator.pk, withdrawn_at=None).update(withdrawn_at=timezone.now(), external_id=""):
        deleted, _ = Vote.objects.filter(showing__evaluator=evaluator).delete()
        record("evaluator", "withdrew", evaluator, poll=poll.title, deleted_votes=deleted)
    return True
