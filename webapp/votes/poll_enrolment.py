"""How evaluators enter and leave a poll, and how sides and orders are drawn."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from webapp.audit import record
from webapp.votes.languages import localize_poll
from webapp.votes.lifecycle import is_full, lock_poll
from webapp.votes.models import Evaluator, Poll, Showing, Vote

ABANDONED = timedelta(hours=2)
"""An unfinished evaluator who agreed longer ago than this loses their slot in the balance of sides."""
LONGEST_ID = 64


@transaction.atomic
def invite_evaluators(poll: Poll, count: int) -> list[Evaluator]:
    """Create evaluators with personal links: E01, E02 ... after the highest number used so far."""
    poll = lock_poll(poll.pk)
    people = [Evaluator(poll=poll, label=f"E{number:02d}") for number in _reserve_numbers(poll, count)]
    return Evaluator.objects.bulk_create(people)


def _reserve_numbers(poll: Poll, count: int) -> range:
    """The numbers of new labels. The caller holds the poll's lock."""
    labels = Evaluator.objects.filter(poll=poll, label__regex=r"^[ER]\d+$").values_list("label", flat=True)
    first = max([poll.labels_given, *(int(label[1:]) for label in labels)]) + 1
    Poll.objects.filter(pk=poll.pk).update(labels_given=first + count - 1)
    return range(first, first + count)


@dataclass(frozen=True)
class Arrival:
    """What is known about a person who uses the open link."""

    external_id: str
    """The recruitment site's id of the person; empty if it gives none."""
    tokens: Sequence[str]
    """The person's tokens (recruitment.derive_tokens); a newcomer gets the first."""
    remembered: str = ""
    """The token with which this person or another one began in this browser."""


def find_evaluator(poll: Poll, arrival: Arrival) -> Evaluator | None:
    """The evaluator who comes back, also after leaving. An id alone is not enough, because it is no secret."""
    same_person = Q(token__in=arrival.tokens) | Q(token=arrival.remembered, external_id=arrival.external_id)
    return Evaluator.objects.filter(same_person, poll=poll).first()


def has_begun_elsewhere(poll: Poll, arrival: Arrival) -> bool:
    """Whether somebody with this id began in another browser. Ask only if find_evaluator finds nobody."""
    return arrival.external_id != "" and Evaluator.objects.filter(poll=poll, external_id=arrival.external_id).exists()


def is_taking(poll: Poll) -> bool:
    """Whether the poll is open and has room for another person."""
    return poll.status == Poll.Status.OPEN and not is_full(poll)


@transaction.atomic
def enrol(poll: Poll, arrival: Arrival) -> Evaluator | None:
    """The evaluator of this arrival, created once; None if the id began elsewhere or nobody new can get in."""
    poll = lock_poll(poll.pk)
    before = find_evaluator(poll, arrival)
    if before or has_begun_elsewhere(poll, arrival) or not (poll.recruiting and is_taking(poll)):
        return before
    [number] = _reserve_numbers(poll, 1)
    person = {"label": f"R{number:02d}", "external_id": arrival.external_id, "token": arrival.tokens[0]}
    return Evaluator.objects.create(poll=poll, **person)


@transaction.atomic
def accept_consent(evaluator: Evaluator, language: str = "") -> None:
    """Store the consent and draw what this person will see, if the poll is open. A second consent does nothing."""
    poll = lock_poll(evaluator.poll_id)
    if not is_taking(poll):
        return
    language, original = language or poll.language, poll.consent_text
    localize_poll(poll, language)
    agreed = Evaluator.objects.filter(pk=evaluator.pk, consented_at=None, withdrawn_at=None).update(
        consented_at=Now(),
        consent_version=poll.consent_version,
        consent_hash=poll.consent_hash,
        consent_language=poll.language if poll.consent_text == original else language,
        language=language,
        slot=_find_free_slot(poll),
    )
    if agreed:
        evaluator.refresh_from_db()
        Showing.objects.bulk_create(_draw_showings(poll, evaluator))


def _find_free_slot(poll: Poll) -> int:
    """The lowest slot that no finished or active evaluator holds."""
    active = Q(finished_at__isnull=False) | Q(consented_at__gte=Now() - ABANDONED)
    holders = Evaluator.objects.filter(active, poll=poll, withdrawn_at=None, slot__isnull=False)
    used = set(holders.values_list("slot", flat=True))
    return next(slot for slot in range(len(used) + 1) if slot not in used)


def _draw_showings(poll: Poll, evaluator: Evaluator) -> list[Showing]:
    """Every pair once in this evaluator's order, then those to show twice with their sides exchanged."""
    slot = evaluator.slot or 0
    pairs = list(poll.pairs.all())
    random.Random(f"{poll.seed} order {slot}").shuffle(pairs)
    # The last pair is not among those that come again, because it would follow itself.
    asked = [pair for pair in pairs[:-1] if not pair.is_check]
    repeated = random.Random(f"{poll.seed} repeats {slot}").sample(asked, min(poll.repeats, len(asked)))
    shown = [(pair, False) for pair in pairs] + [(pair, True) for pair in repeated]
    return [
        Showing(
            evaluator=evaluator,
            pair=pair,
            again=again,
            position=place,
            first_left=draw_first_left(poll.seed, pair.position, slot) != again,
        )
        for place, (pair, again) in enumerate(shown, 1)
    ]


def draw_first_left(seed: int, pair: int, slot: int) -> bool:
    """Whether a pair's first clip is on the left: drawn for every even slot, the opposite for the next one."""
    drawn = random.Random(f"{seed} sides {pair} {slot // 2}").random() < 0.5
    return drawn != bool(slot % 2)


@transaction.atomic
def withdraw(evaluator: Evaluator) -> bool:
    """Leave the poll and delete the answers. False if the poll is closed, because they are part of its result."""
    poll = lock_poll(evaluator.poll_id)
    if poll.status == Poll.Status.CLOSED:
        return False
    if Evaluator.objects.filter(pk=evaluator.pk, withdrawn_at=None).update(withdrawn_at=Now(), external_id=""):
        deleted, _ = Vote.objects.filter(showing__evaluator=evaluator).delete()
        record("evaluator", "withdrew", evaluator, poll=poll.title, deleted_votes=deleted)
    return True
