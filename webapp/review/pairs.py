"""Pairs of segments: who is shown which, what they answer, and when a session is over.

No pair is given to two people unless the arm wants several answers, and nobody answers a pair twice. An answer is a
row before the page hears that it was taken; it can be changed until its session is over.
"""

from __future__ import annotations

import random
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Max, Q, QuerySet
from django.db.models.functions import Now

from llm.records import ANSWERS
from webapp.base.database import read_now
from webapp.experiments import loop, pair_sessions
from webapp.experiments.models import Clip, Experiment, PairSession, SegmentPair
from webapp.review import gold_pairs
from webapp.review.models import PairScreening
from webapp.studies import assigning
from webapp.studies.models import Participant

AHEAD, LEAST_AHEAD = 4, 2
"""Pairs that a page holds: the one that is shown, and those that it loads meanwhile. The second number where many
people share few pairs.
"""
HELD_SECONDS = 90
"""A pair may be given to somebody else once its page has been silent for this long."""
MEASURED = 20
"""The time left follows from the median time of the person's last answers, this many."""
LEAST_MEASURED = 3
TAKEN_BACK = 4
"""How many of the last answers a page that was loaded again can take back."""
MOST_SECONDS = 3600.0


@dataclass(frozen=True)
class Change:
    """An answer that a page sends; an empty one takes the earlier back."""

    token: str
    answer: str
    """left, right, equal or skip; empty: none."""
    sequence: int
    seconds: float | None = None


@dataclass(frozen=True)
class State:
    """Where a person is in a session."""

    shown: tuple[PairScreening, ...]
    """The pairs to answer next, in order."""
    given: tuple[PairScreening, ...]
    """The person's newest answers that can be taken back, the oldest first."""
    done: int
    """Answers so far, of everybody; and the person's own to gold pairs."""
    total: int
    """Answers that the session needs, and the person's gold pairs."""
    seconds_left: float | None
    """None before it can be said."""


def find_session(participant: Participant) -> PairSession | None:
    """The session whose pairs this person should answer now."""
    experiment = participant.experiment
    return pair_sessions.find_open_session(experiment) if experiment and not experiment.paused else None


def find_session_of_answers(participant: Participant) -> PairSession | None:
    """The session that answers of this person are for, also while the experiment is paused or has failed."""
    sessions = PairSession.objects.filter(request__experiment=participant.experiment, status=PairSession.Status.OPEN)
    return None if participant.withdrawn_at else sessions.select_related("request").first()


def save_late_changes(participant: Participant, changes: Sequence[Change]) -> None:
    """Take the changes that are about a session of another experiment of the person: a page sent them late."""
    if participant.withdrawn_at or not changes:
        return
    others = PairSession.objects.filter(request__experiment__assignments__participant=participant)
    others = others.filter(status=PairSession.Status.OPEN).exclude(request__experiment=participant.experiment)
    for session in others.select_related("request"):
        with transaction.atomic():
            experiment = loop.lock(session.request.experiment_id)
            if PairSession.objects.filter(pk=session.pk, status=PairSession.Status.OPEN).exists():
                for change in sorted(changes, key=lambda one: one.sequence):
                    _save_change(participant, session, change, assigning.count_copies(experiment))


def follow(participant: Participant, session: PairSession, changes: Sequence[Change] = ()) -> State:
    """Take a page's changes in their order, and give the person pairs to answer."""
    with transaction.atomic():
        experiment = loop.lock(session.request.experiment_id)
        session = PairSession.objects.select_related("request").get(pk=session.pk)
        copies, share = _plan_shares(session, experiment)
        if session.status == PairSession.Status.OPEN:
            for change in sorted(changes, key=lambda one: one.sequence):
                _save_change(participant, session, change, copies)
        golds = gold_pairs.find_due(participant, session, share)
        if session.status == PairSession.Status.OPEN and experiment.live and not experiment.paused:
            _give(participant, session, copies, share, golds)
        return _describe(participant, session, copies, len(golds))


def settle_due_sessions(experiments: Iterable[Experiment] | None = None) -> int:
    """End the sessions whose answers are all there and can no longer be taken back. For the reaper and for pages."""
    waiting = list_waiting_sessions()
    if experiments is not None:
        waiting = waiting.filter(request__experiment__in=[row.pk for row in experiments])
    return sum(_settle(session) for session in waiting)


def list_waiting_sessions() -> QuerySet[PairSession]:
    """The sessions that people answer."""
    live = (Experiment.Status.RUNNING, Experiment.Status.WAITING)
    waiting = PairSession.objects.filter(status=PairSession.Status.OPEN, request__experiment__status__in=live)
    return waiting.select_related("request")


def lacks_answers(session: PairSession) -> bool:
    """Whether people should still answer pairs of a session."""
    copies = assigning.count_copies(session.request.experiment)
    return session.status == PairSession.Status.OPEN and min(_count_answers(session), default=copies) < copies


def count_given(experiment: Experiment) -> tuple[int, int] | None:
    """How many answers the open session has, and how many it needs; None where no session is open."""
    session = pair_sessions.find_open_session(experiment)
    return None if session is None else _sum_answers(_count_answers(session), assigning.count_copies(experiment))


def release_pairs(experiment: Experiment, **_: Any) -> None:
    """Have the others answer the pairs that people hold who have left."""
    staying = assigning.find_members(experiment).values("participant")
    held = PairScreening.objects.filter(pair__session__request__experiment=experiment, answer="", released_at=None)
    held.exclude(participant__in=staying).update(released_at=Now())


def find_answered_pairs(people: Sequence[int]) -> list[int]:
    """The pairs of trainings that these people answered."""
    found = PairScreening.objects.filter(participant__in=people, pair__isnull=False).exclude(answer="")
    return list(found.values_list("pair", flat=True).distinct())


def pool_again(pair_keys: Sequence[int]) -> None:
    """Have the answers of ended sessions follow from those that are still there."""
    for pair in SegmentPair.objects.filter(pk__in=pair_keys, session__status=PairSession.Status.ANSWERED):
        pair.answer = pool(_list_answers(pair))
        pair.save(update_fields=["answer"])


def pool(answers: Sequence[str]) -> str:
    """One answer of several people's: the most frequent, and equal where two are; skip if nobody could tell."""
    counts = Counter(answer for answer in answers if answer != "skip").most_common(2)
    if not counts:
        return "skip"
    return "equal" if len(counts) > 1 and counts[0][1] == counts[1][1] else counts[0][0]


def turn(answer: str, swapped: bool) -> str:
    """left and right as first and second, or the answer itself."""
    sides = ("second", "first") if swapped else ("first", "second")
    return dict(zip(("left", "right"), sides, strict=True)).get(answer, answer)


def _save_change(participant: Participant, session: PairSession, change: Change, copies: int) -> None:
    """Save a change, unless it is late or repeated. Where others have answered the pair meanwhile, it is kept and does
    not count.
    """
    answer = change.answer
    mine = PairScreening.objects.filter(participant=participant, token=change.token)
    row = mine.filter(Q(pair__session=session) | Q(mixed_into=session)).first()
    if row is None or change.sequence <= row.sequence or answer not in ("", "left", "right", "equal", "skip"):
        return
    copy = _find_free_copy(row, copies) if row.released_at is not None else None
    if copy is not None:
        row.copy, row.released_at = copy, None
    given = turn(answer, row.swapped)
    assert given in ("", *ANSWERS)
    row.changes += bool(row.answer)
    row.answer, row.sequence = given, change.sequence
    row.seconds = None if change.seconds is None else min(max(change.seconds, 0.0), MOST_SECONDS)
    row.answered_at = read_now() if given else None
    row.save(update_fields=["answer", "sequence", "changes", "seconds", "answered_at", "copy", "released_at"])


def _find_free_copy(row: PairScreening, copies: int) -> int | None:
    """Which answer of its pair a released screening may be after all; None if others have given them all. Somebody who
    holds the pair and has not answered gives way.
    """
    others = PairScreening.objects.filter(pair=row.pair_id, released_at=None).exclude(pk=row.pk)
    answered = set(others.exclude(answer="").values_list("copy", flat=True))
    held = set(others.filter(answer="").values_list("copy", flat=True))
    free = sorted(set(range(copies)) - answered, key=lambda copy: (copy in held, copy))
    if not free:
        return None
    others.filter(copy=free[0]).update(released_at=Now())
    return free[0]


def _give(
    participant: Participant, session: PairSession, copies: int, share: int, golds: list[gold_pairs.DuePair]
) -> None:
    """Let the person hold up to AHEAD pairs, as far as there are any that they may answer. Gold pairs that they are
    given leave the list.
    """
    held = PairScreening.objects.filter(pair__session=session, answer="", released_at=None)
    mine = held.filter(participant=participant)
    mine.update(offered_at=Now())
    missing = min(AHEAD, max(LEAST_AHEAD, share)) - mine.count() - gold_pairs.count_held(participant, session)
    if missing <= 0:
        return
    _release_silent(held.exclude(participant=participant))
    given = PairScreening.objects.filter(participant=participant, pair__session=session)
    given = given.filter(Q(released_at=None) | ~Q(answer=""))
    free = session.pairs.filter(answer="").exclude(pk__in=given.values("pair"))
    standing = Count("screenings", filter=Q(screenings__released_at=None))
    offered = list(
        free.annotate(standing=standing).filter(standing__lt=copies).order_by("standing", "number")[:missing]
    )
    before = given.count()
    for _turn in range(missing):
        if golds and (not offered or golds[0].place <= before):
            gold_pairs.offer(participant, session, golds.pop(0).pair)
        elif offered:
            _offer(participant, offered.pop(0), copies)
            before += 1


def _offer(participant: Participant, pair: SegmentPair, copies: int) -> None:
    taken = set(pair.screenings.filter(released_at=None).values_list("copy", flat=True))
    offer = {"copy": min(set(range(copies)) - taken), "offered_at": Now(), "released_at": None}
    new = {"swapped": bool(random.SystemRandom().getrandbits(1))}
    PairScreening.objects.update_or_create(
        pair=pair, participant=participant, defaults=offer, create_defaults=offer | new
    )


def _plan_shares(session: PairSession, experiment: Experiment) -> tuple[int, int]:
    """How many people answer each pair of a session, and how many of its pairs each person answers, if all do their
    part.
    """
    copies, members = assigning.count_copies(experiment), max(1, assigning.find_members(experiment).count())
    return copies, -(-session.pairs.count() * copies // members)


def _release_silent(held: QuerySet[PairScreening]) -> None:
    """Free the pairs of pages that were not heard of for a while."""
    held.filter(offered_at__lt=read_now() - timedelta(seconds=HELD_SECONDS)).update(released_at=Now())


def _describe(participant: Participant, session: PairSession, copies: int, golds_due: int) -> State:
    standing = PairScreening.objects.filter(pair__session=session, released_at=None)
    mine = standing.filter(participant=participant)
    golds = gold_pairs.find_shown(participant, session)
    shown = list(mine.filter(answer="", pair__answer="")) + list(golds.filter(answer="").exclude(gold=None))
    answered = (mine.exclude(answer=""), golds.exclude(answer="").exclude(gold=None))
    given = [row for rows in answered for row in rows.order_by("-sequence")[:TAKEN_BACK]]
    if session.status != PairSession.Status.OPEN:
        shown = given = []
    done, total = _sum_answers(_count_answers(session), copies)
    done += golds.exclude(answer="").count()
    total += golds.count() + golds_due
    others = standing.filter(answer="").exclude(participant=participant).values("participant").distinct().count()
    each = _measure_pace(participant)
    left = None if each is None else each * max(total - done, 0) / (1 + others)
    newest = sorted(given, key=lambda row: row.sequence)[-TAKEN_BACK:]
    return State(tuple(sorted(shown, key=lambda row: row.pk)), tuple(newest), done, total, left)


def has_answered(participant: Participant) -> bool:
    """Whether the person has answered a pair."""
    return PairScreening.objects.filter(participant=participant).exclude(answer="").exists()


def _find_asked(session: PairSession) -> QuerySet[SegmentPair]:
    """The pairs that people are asked about: those whose films are there."""
    return session.pairs.exclude(first__status=Clip.Status.FAILED).exclude(second__status=Clip.Status.FAILED)


def _count_answers(session: PairSession) -> list[int]:
    """How many answers each pair has."""
    answered = Q(screenings__released_at=None) & ~Q(screenings__answer="") & Q(screenings__isnull=False)
    return [pair.answers for pair in _find_asked(session).annotate(answers=Count("screenings", filter=answered))]


def _sum_answers(counts: Sequence[int], copies: int) -> tuple[int, int]:
    """Of the answers that a session needs: how many are there, and all of them."""
    return sum(min(copies, count) for count in counts), len(counts) * copies


def _measure_pace(participant: Participant) -> float | None:
    """Seconds that the person takes for a pair."""
    timed = PairScreening.objects.filter(participant=participant, seconds__isnull=False)
    newest = timed.order_by("-answered_at").values_list("seconds", flat=True)[:MEASURED]
    last = [seconds for seconds in newest if seconds is not None]
    return statistics.median(last) if len(last) >= LEAST_MEASURED else None


def _list_answers(pair: SegmentPair) -> list[str]:
    answered = pair.screenings.filter(released_at=None).exclude(answer="")
    return list(answered.order_by("copy").values_list("answer", flat=True))


@transaction.atomic
def _settle(session: PairSession) -> bool:
    try:
        experiment = loop.lock(session.request.experiment_id)
    except Experiment.DoesNotExist:
        return False
    answered = PairScreening.objects.filter(pair__session=session, released_at=None).exclude(answer="")
    lacking = min(_count_answers(session), default=0) < assigning.count_copies(experiment)
    newest = answered.aggregate(at=Max("answered_at"))["at"]
    age = (read_now() - newest).total_seconds() if newest else -1.0  # negative where a clock was set back
    if lacking or 0 <= age < settings.UNDO_SECONDS:
        return False
    return _end(experiment, session)


def close_session(experiment: Experiment, session: PairSession) -> bool:
    """End an open session with the answers so far; pairs without one are skipped. False if there are none. The caller
    holds the experiment's lock.
    """
    return any(_count_answers(session)) and _end(experiment, session)


def _end(experiment: Experiment, session: PairSession) -> bool:
    for pair in _find_asked(session):
        pair.answer = pool(_list_answers(pair))
        pair.save(update_fields=["answer"])
    return pair_sessions.end_session(experiment, session)
