"""What the people of a study were asked and answered, by experiment: choices of rounds, and answers to pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean

from webapp.experiments import pair_sessions
from webapp.experiments.kinds import JUDGED_KINDS
from webapp.experiments.models import Experiment, PairSession, Request
from webapp.review.models import PairScreening, Vote


@dataclass(frozen=True)
class Question:
    """A moment at which people were asked: the primary key of its request, or of its session of pairs."""

    key: int
    at: datetime


@dataclass(frozen=True)
class Answer:
    """One standing choice, or the answer to one pair."""

    key: int
    """The primary key of its question."""
    participant: int
    at: datetime
    seconds: float | None
    undecided: bool
    """The person could not judge: the picks of a choice were drawn at random, a pair was skipped."""


def measure_seconds(vote: Vote) -> float:
    """Seconds from when the videos could play until the choice, as the browser measured it; else since the page was
    opened, by the server's clock."""
    measured = vote.client.get("decide_ms")
    if isinstance(measured, int):
        return measured / 1000
    return (vote.created_at - vote.screening.opened_at).total_seconds()


def read_answers(experiments: Sequence[Experiment]) -> dict[int, list[Answer]]:
    """The standing answers of each experiment, in order."""
    found: dict[int, list[Answer]] = defaultdict(list)
    votes = Vote.objects.filter(request__experiment__in=experiments, undone_at=None)
    for vote in votes.select_related("screening", "request").order_by("pk"):
        person, seconds = vote.screening.participant_id, measure_seconds(vote)
        answer = Answer(vote.request_id, person, vote.created_at, seconds, vote.cannot_tell)
        found[vote.request.experiment_id].append(answer)
    rows = PairScreening.objects.filter(pair__session__request__experiment__in=_select_asking_pairs(experiments))
    standing = rows.filter(released_at=None, answered_at__isnull=False).exclude(answer="")
    columns = ("pair__session__request__experiment", "pair__session", "participant", "answered_at", "seconds", "answer")
    for pk, session, person, at, taken, given in standing.order_by("answered_at", "pk").values_list(*columns):
        assert at is not None
        found[pk].append(Answer(session, person, at, taken, given == pair_sessions.SKIPPED))
    return found


def read_questions(experiments: Sequence[Experiment]) -> dict[int, list[Question]]:
    """What people were asked in each experiment, in order."""
    found: dict[int, list[Question]] = defaultdict(list)
    rows = Request.objects.filter(experiment__in=experiments, kind__in=JUDGED_KINDS).exclude(status="aside")
    for request in rows.only("experiment", "created_at").order_by("step", "slot"):
        found[request.experiment_id].append(Question(request.pk, request.created_at))
    opened = PairSession.objects.filter(request__experiment__in=_select_asking_pairs(experiments))
    opened = opened.filter(opened_at__isnull=False).select_related("request").order_by("opened_at")
    for session in opened:
        assert session.opened_at is not None
        found[session.request.experiment_id].append(Question(session.pk, session.opened_at))
    return found


def measure_waiting(
    people: Sequence[int], start: datetime | None, questions: Sequence[Question], answers: Sequence[Answer]
) -> float | None:
    """Seconds in which nothing was asked: from the start to the first question, and from each last answer to the next
    one. The mean over a panel's members."""
    if start is None or not questions:
        return None
    waits = []
    for person in people:
        own = {one.key: one.at for one in answers if one.participant == person}
        if own:
            since, seconds = start, 0.0
            for question in questions:
                seconds += max(0.0, (question.at - since).total_seconds())
                since = own.get(question.key, max(since, question.at))
            waits.append(seconds)
    return fmean(waits) if waits else None


def _select_asking_pairs(experiments: Sequence[Experiment]) -> list[int]:
    return [row.pk for row in experiments if pair_sessions.asks_people(row)]
