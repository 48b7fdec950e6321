"""A study as it stands: where each participant is, what failed, what was used up, and what is still to compute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Avg, Count, DurationField, ExpressionWrapper, F, Max, QuerySet

from llm.records import TRIED
from webapp.base.paper_table import Table
from webapp.experiments import loop, pair_sessions, progress
from webapp.experiments.job_kinds import ROUND_KINDS, TRAINING_KINDS
from webapp.experiments.kinds import get_judgement
from webapp.experiments.models import Event, Experiment, Job, PairSession, Request
from webapp.experiments.resource_use import Usage, sum_usage
from webapp.review.models import PairScreening, Vote
from webapp.studies import assigning, opening
from webapp.studies.models import Assignment, Participant, Study, find_current

KIND_LABELS = {
    "invited": "not opened yet",
    "reading": "before the first round",
    "practising": "robots practise",
    "choosing": "to choose",
    "chosen": "have chosen",
    "between": "before the next experiment",
    "paused": "paused",
    "failed": "stopped by a failure",
    "finished": "finished",
    "out": "out",
}
"""Where a person can be, in the order of the page; the value is what the page says."""


@dataclass(frozen=True)
class State:
    """Where an experiment is."""

    kind: str
    words: str
    since: datetime | None
    seconds_left: float | None = None
    request: Request | None = None
    """The judgement that people are asked for now."""


@dataclass(frozen=True)
class Place:
    """Where a participant is."""

    participant: Participant
    assignment: Assignment | None
    kind: str
    words: str
    since: datetime | None
    votes: int
    seconds_left: float | None = None

    @property
    def experiment(self) -> Experiment | None:
        return self.assignment.experiment if self.assignment else None


@dataclass(frozen=True)
class Remaining:
    """What the experiments of the people who are taking part still have to compute."""

    rounds: int
    """Rounds that have not been judged yet."""
    round_seconds: float | None
    """Computing that a round took in this study on average; None before the first."""
    parallel: int
    """Experiments that can be worked on at once: workers that train now, at least one."""

    @property
    def seconds(self) -> float | None:
        """Computing still to do, without the time that people take to choose; None before the first round."""
        return None if self.round_seconds is None else self.rounds * self.round_seconds / self.parallel


@dataclass(frozen=True)
class StudyOverview:
    study: Study
    places: tuple[Place, ...]
    pilots: tuple[Place, ...]
    usage: Usage
    remaining: Remaining
    stranded: int
    """Panels that wait for people who may not come any more."""

    @property
    def counts(self) -> list[tuple[str, str, int]]:
        """(kind, words, people) of each kind that occurs."""
        people = Counter(place.kind for place in self.places)
        return [(kind, words, people[kind]) for kind, words in KIND_LABELS.items() if people[kind]]

    @property
    def failed(self) -> list[Place]:
        return [place for place in self.places if place.kind == "failed"]


def build_overview(study: Study) -> StudyOverview:
    """Pilots have places, too, apart from those of the others, and count in nothing else."""
    rows = study.participants.order_by("pilot", "label")
    people = list(rows.prefetch_related("assignments__arm", "assignments__experiment"))
    count_of = _count_answers(study)
    current = {person.pk: find_current(person.assignments.all()) for person in people}
    before = {person.pk: _find_place_outside(person, current[person.pk]) for person in people}
    under_way = {a.experiment.pk: a.experiment for pk, a in current.items() if not before[pk] and a and a.experiment}
    states = _read_states(list(under_way.values()))
    chosen = _read_choices(states.values())
    places = tuple(
        _find_place(person, current[person.pk], before[person.pk], states, chosen, count_of[person.pk])
        for person in people
    )
    counted = tuple(place for place in places if not place.participant.pilot)
    return StudyOverview(
        study=study,
        places=counted,
        pilots=tuple(place for place in places if place.participant.pilot),
        usage=sum_usage(assigning.find_study_experiments(study)),
        remaining=_estimate_remaining(study, counted),
        stranded=opening.count_stranded(study),
    )


def _count_answers(study: Study) -> Counter[int]:
    """Standing votes, and answers to pairs, of each person."""
    votes = Vote.objects.filter(screening__participant__study=study, undone_at=None)
    answers = PairScreening.objects.filter(participant__study=study, pair__isnull=False, released_at=None)
    answers = answers.exclude(answer="")
    found = Counter(dict(votes.values_list("screening__participant").annotate(count=Count("pk"))))
    found.update(dict(answers.order_by().values_list("participant").annotate(count=Count("pk"))))
    return found


def _find_place(
    person: Participant,
    current: Assignment | None,
    before: tuple[str, str, datetime | None] | None,
    states: Mapping[int, State],
    chosen: Set[tuple[int, int]],
    votes: int,
) -> Place:
    if before:
        return Place(person, current, *before, votes)
    assert current is not None and current.experiment is not None
    state = states[current.experiment.pk]  # a panel shares one
    kind, words = state.kind, state.words
    if state.request and (state.request.pk, person.pk) in chosen:
        kind, words = "chosen", words.replace("to choose", "has chosen")
    return Place(person, current, kind, words, state.since, votes, state.seconds_left)


def _find_place_outside(person: Participant, current: Assignment | None) -> tuple[str, str, datetime | None] | None:
    """(kind, words, since) of a person who is in no running experiment; None for one who is."""
    if person.finished_at:
        return "finished", "finished", person.finished_at
    if person.outcome:
        return "out", person.get_outcome_display().lower(), person.withdrawn_at
    if person.consented_at is None:
        return "invited", "has not opened the link or not agreed yet", person.created_at
    experiment = current.experiment if current else None
    if experiment is None:
        return "between", "before the next experiment", person.consented_at
    if experiment.status == Experiment.Status.DRAFT:
        return "between", "waits for the rest of the panel", experiment.created_at
    if person.instructed_at is None:
        return "reading", "reads the instructions", person.consented_at
    return None


def _read_states(experiments: Sequence[Experiment]) -> dict[int, State]:
    """The state of each of these experiments, by primary key."""
    now = progress.read_all(experiments)
    asked = loop.find_waiting_requests(experiments)
    sessions = pair_sessions.find_open_sessions(experiments)
    last_event = _read_latest(Event.objects.filter(experiment__in=experiments), "created_at")
    last_done = _read_latest(Request.objects.filter(experiment__in=experiments), "finished_at")
    states = {}
    for row in experiments:
        begun = last_done.get(row.pk) or row.started_at
        waits = asked.get(row.pk) or sessions.get(row.pk)
        states[row.pk] = _describe_state(row, now[row.pk], waits, begun, last_event.get(row.pk))
    return states


def _read_latest(rows: QuerySet[Any], field: str) -> dict[int, datetime | None]:
    """The newest moment in this field, by experiment."""
    return dict(rows.order_by().values_list("experiment").annotate(latest=Max(field)))


def _describe_state(
    experiment: Experiment,
    now: progress.Progress,
    waits: Request | PairSession | None,
    begun: datetime | None,
    last_event: datetime | None,
) -> State:
    if experiment.status == Experiment.Status.FAILED:
        return State("failed", experiment.error, last_event)
    if experiment.status == Experiment.Status.CANCELLED:
        return State("out", "the experiment was cancelled", experiment.finished_at)
    if experiment.paused:
        return State("paused", f"round {now.iteration} of {now.n} is paused", None)
    if isinstance(waits, PairSession):
        return State("choosing", f"to answer pairs, session {waits.number}", waits.opened_at)
    if waits:
        choice = "the winner" if get_judgement(waits).is_final else f"in round {now.iteration} of {now.n}"
        return State("choosing", f"to choose {choice}", waits.created_at, request=waits)
    return State("practising", f"round {max(1, now.iteration)} of {now.n}: {now.phase}", begun, now.seconds_left)


def _read_choices(states: Iterable[State]) -> set[tuple[int, int]]:
    """(request, participant) of the choices that were made in what is asked now."""
    asked = [state.request for state in states if state.request]
    votes = Vote.objects.filter(request__in=asked, undone_at=None)
    return set(votes.values_list("request", "screening__participant"))


def _estimate_remaining(study: Study, places: Sequence[Place]) -> Remaining:
    training = Job.objects.filter(kind__in=TRAINING_KINDS, status=Job.Status.RUNNING).count()
    return Remaining(_count_rounds_left(study, places), _average_round_seconds(study), max(1, training))


def _count_rounds_left(study: Study, places: Sequence[Place]) -> int:
    """Rounds to compute for the people who are taking part: each experiment once, and those they will begin."""
    people = [place.participant for place in places if place.kind not in ("invited", "finished", "out", "failed")]
    waiting = Assignment.objects.filter(participant__in=people).select_related("arm", "experiment")
    begun = {a.experiment.pk: a.experiment for a in waiting if a.experiment}
    tried = Request.objects.filter(experiment__in=begun, kind__in=TRIED, status=Request.Status.DONE)
    newest = dict(tried.order_by("step").values_list("experiment", "payload__iteration"))
    over = (Experiment.Status.FINISHED, Experiment.Status.CANCELLED)
    going_on = [e for e in begun.values() if e.status not in over and not e.ends_early]
    left: int = sum(max(0, e.rounds - newest.get(e.pk, 0)) for e in going_on)
    return left + round(sum(a.arm.rounds / a.arm.panel for a in waiting if a.experiment is None))


def _average_round_seconds(study: Study) -> float | None:
    """Mean seconds of a round's jobs in this study: other studies differ in task and preset."""
    jobs = Job.objects.filter(
        experiment__assignments__arm__study=study, status=Job.Status.DONE, started_at__isnull=False
    ).distinct()
    took = ExpressionWrapper(F("finished_at") - F("started_at"), output_field=DurationField())
    means = [jobs.filter(kind=kind).aggregate(mean=Avg(took))["mean"] for kind in ROUND_KINDS]
    return sum(mean.total_seconds() for mean in means) if all(means) else None


def build_people_table(overview: StudyOverview) -> Table:
    """Where everybody is, for a file."""
    rows = tuple(
        (
            place.participant.label,
            place.assignment.arm.name if place.assignment else None,
            KIND_LABELS[place.kind],
            place.words,
            place.since.isoformat(timespec="seconds") if place.since else None,
            place.votes,
        )
        for place in overview.places
    )
    return Table(
        "people", f"People of {overview.study}", ("participant", "arm", "state", "where", "since", "votes"), rows
    )
