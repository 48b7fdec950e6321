"""Gold pairs: pairs of segments whose right answer is known, mixed among those that a training asks about.

They look like all others, and no reward model learns from them. How many each person answers is the study's plan; after
how many other pairs each one comes is drawn from the study's seed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from django.db.models import QuerySet

from webapp.experiments import pair_sessions
from webapp.experiments.models import Experiment, PairSession
from webapp.review.models import GoldPair, PairScreening, TrialPlan
from webapp.studies import assigning
from webapp.studies.models import Participant


@dataclass(frozen=True)
class DuePair:
    """A gold pair that a person has not been given yet in this session."""

    pair: GoldPair
    place: int
    """How many of the session's own pairs come before it."""


def find_due(participant: Participant, session: PairSession, share: int) -> list[DuePair]:
    """The gold pairs that are still to come in a session of which the person answers `share` pairs, in order."""
    plan = TrialPlan.objects.filter(study=participant.study_id, gold_pairs__gt=0).select_related("study").first()
    if plan is None:
        return []
    earlier = _count_earlier(participant, session)
    draw = random.Random(f"{plan.study.seed} {participant.label} gold pairs")
    places = plan_places(plan.gold_pairs, _count_expected(session.request.experiment), draw)
    given = PairScreening.objects.filter(participant=participant, pair__isnull=True)
    answered = given.exclude(mixed_into=session).exclude(answer="").count()
    here = _spread_leftovers([place - earlier for place in places[answered:] if place < earlier + share], share)
    here = here[given.filter(mixed_into=session).count() :]
    unseen = _find_unseen(participant, session.request.experiment) if here else []
    draw.shuffle(unseen)
    return [DuePair(pair, place) for pair, place in zip(unseen, here, strict=False)]


def _spread_leftovers(places: list[int], share: int) -> list[int]:
    """Places in a session; those that an earlier one left over stand evenly in it."""
    late = sum(place < 0 for place in places)
    return sorted([(2 * turn + 1) * share // (2 * late) for turn in range(late)] + places[late:])


def plan_places(count: int, pairs_each: int, draw: random.Random) -> list[int]:
    """How many of a person's own pairs come before each of `count` gold pairs: one in each of `count` equal parts."""
    return [int((part + draw.random()) * pairs_each / count) for part in range(count)]


def count_held(participant: Participant, session: PairSession) -> int:
    """How many gold pairs the person's page holds unanswered."""
    return find_shown(participant, session).filter(answer="").exclude(gold=None).count()


def find_shown(participant: Participant, session: PairSession) -> QuerySet[PairScreening]:
    """The gold pairs that the person was given in this session. One that was deleted unanswered is none."""
    mine = PairScreening.objects.filter(participant=participant, mixed_into=session)
    return mine.exclude(gold=None, answer="").select_related("gold__better", "gold__worse")


def offer(participant: Participant, session: PairSession, pair: GoldPair) -> None:
    swapped = bool(random.SystemRandom().getrandbits(1))
    PairScreening.objects.create(gold=pair, participant=participant, mixed_into=session, swapped=swapped, copy=0)


def looks_alike(one: Experiment, other: Experiment) -> bool:
    """Whether segments of both look alike: of one task, equally long."""
    return one.task == other.task and pair_sessions.read_seconds(one) == pair_sessions.read_seconds(other)


def _count_expected(experiment: Experiment) -> int:
    """How many pairs each member answers in all sessions, if all do their part."""
    members = max(1, assigning.find_members(experiment).count())
    return -(-pair_sessions.read_queries(experiment) * assigning.count_copies(experiment) // members)


def _count_earlier(participant: Participant, session: PairSession) -> int:
    """How many pairs of trainings the person answered in other sessions of this study."""
    mine = PairScreening.objects.filter(participant=participant, pair__isnull=False).exclude(answer="")
    return mine.exclude(pair__session=session).count()


def _find_unseen(participant: Participant, experiment: Experiment) -> list[GoldPair]:
    """The gold pairs that fit the experiment, without those whose segments the person has been shown."""
    mine = PairScreening.objects.filter(participant=participant)
    seen = {pk for row in mine.exclude(pair=None).values_list("pair__first", "pair__second") for pk in row}
    rows = GoldPair.objects.filter(study=participant.study_id).exclude(pk__in=mine.exclude(gold=None).values("gold"))
    rows = rows.select_related("better__session__request__experiment").order_by("pk")
    fit = [row for row in rows if looks_alike(row.better.session.request.experiment, experiment)]
    return [row for row in fit if not {row.better_id, row.worse_id} & seen]
