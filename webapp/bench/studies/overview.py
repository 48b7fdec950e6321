"""A study as it stands: who is where, who waits for what, what failed, what it has used up, what is still to come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Avg, Count, DurationField, ExpressionWrapper, F, Max, Q, QuerySet, Sum

from llm.records import TRIED
from webapp.base.paper_table import Table
from webapp.experiments import loop, progress
from webapp.experiments.kinds import judgement_of
from webapp.experiments.models import Event, Experiment, Job, ModelCall, Request, Run
from webapp.review.models import Vote
from webapp.studies import opening
from webapp.studies.models import Assignment, Participant, Study, find_current

KINDS = {
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
"""Where a person can be, in the order of the counts."""
WORK = (Job.Kind.WRITE, Job.Kind.TRAIN)
"""What a round waits for; films are made beside it or add little."""


@dataclass(frozen=True)
class State:
    """Where an experiment is."""

    kind: str
    words: str
    since: datetime | None
    seconds_left: float | None = None
    request: Request | None = None
    """What is asked of people now."""


@dataclass(frozen=True)
class Place:
    """A participant and where they are."""

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
class Use:
    """What a study has used up, and what its people's experiments still need."""

    calls: int
    tokens: int
    estimated: int
    """Answers whose tokens are counted from their letters: their endpoint did not say."""
    cost: float
    unknown_costs: int
    train_seconds: float
    samples: int
    rounds_left: int
    """Of those who are in: rounds that were not judged yet."""
    round_seconds: float | None
    """Computing that a round took here on average; None before the first."""
    lines: int
    """Experiments whose work can run at the same time: workers that train now, at least one."""

    @property
    def seconds_left(self) -> float | None:
        """Computing still to do. How long people take to choose, nobody knows."""
        return None if self.round_seconds is None else self.rounds_left * self.round_seconds / self.lines


@dataclass(frozen=True)
class Board:
    study: Study
    places: tuple[Place, ...]
    use: Use
    stranded: int
    """Panels that wait for people who may not come any more."""

    @property
    def counts(self) -> list[tuple[str, str, int]]:
        """(kind, words, people), of those kinds that occur."""
        found = Counter(place.kind for place in self.places)
        return [(kind, words, found[kind]) for kind, words in KINDS.items() if found[kind]]

    @property
    def failed(self) -> list[Place]:
        return [place for place in self.places if place.kind == "failed"]


def board(study: Study) -> Board:
    people = list(study.participants.order_by("label").prefetch_related("assignments__arm", "assignments__experiment"))
    votes = Vote.objects.filter(screening__participant__study=study, undone_at=None)
    count_of = dict(votes.values_list("screening__participant").annotate(count=Count("pk")))
    current = {person.pk: find_current(person.assignments.all()) for person in people}
    before = {person.pk: _before(person, current[person.pk]) for person in people}
    under_way = {a.experiment.pk: a.experiment for pk, a in current.items() if not before[pk] and a and a.experiment}
    states = _states(list(under_way.values()))
    chosen = _chosen(states.values())
    places = tuple(
        _place(person, current[person.pk], before[person.pk], states, chosen, count_of.get(person.pk, 0))
        for person in people
    )
    return Board(study, places, _use(study, places), opening.count_stranded(study))


def _place(
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


def _before(person: Participant, current: Assignment | None) -> tuple[str, str, datetime | None] | None:
    """Where those are who are in no running experiment."""
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


def _states(experiments: Sequence[Experiment]) -> dict[int, State]:
    """Where each of these experiments is, by its key."""
    now = progress.of_all(experiments)
    asked = loop.waiting_requests(experiments)
    last_event = _latest(Event.objects.filter(experiment__in=experiments), "created_at")
    last_done = _latest(Request.objects.filter(experiment__in=experiments), "finished_at")
    states = {}
    for row in experiments:
        begun = last_done.get(row.pk) or row.started_at
        states[row.pk] = _state(row, now[row.pk], asked.get(row.pk), begun, last_event.get(row.pk))
    return states


def _latest(rows: QuerySet[Any], field: str) -> dict[int, datetime | None]:
    """The newest moment in this field, by experiment."""
    return dict(rows.order_by().values_list("experiment").annotate(find_current=Max(field)))


def _state(
    experiment: Experiment,
    now: progress.Progress,
    request: Request | None,
    begun: datetime | None,
    last_event: datetime | None,
) -> State:
    if experiment.status == Experiment.Status.FAILED:
        return State("failed", experiment.error, last_event)
    if experiment.status == Experiment.Status.CANCELLED:
        return State("out", "the experiment was cancelled", experiment.finished_at)
    if experiment.paused:
        return State("paused", f"round {now.iteration} of {now.n} is paused", None)
    if request:
        what = "the winner" if judgement_of(request).final else f"in round {now.iteration} of {now.n}"
        return State("choosing", f"to choose {what}", request.created_at, request=request)
    return State("practising", f"round {max(1, now.iteration)} of {now.n}: {now.phase}", begun, now.seconds_left)


def _chosen(states: Iterable[State]) -> set[tuple[int, int]]:
    """(request, participant) of the choices that stand, among what is asked now."""
    asked = [state.request for state in states if state.request]
    votes = Vote.objects.filter(request__in=asked, undone_at=None)
    return set(votes.values_list("request", "screening__participant"))


def _use(study: Study, places: Sequence[Place]) -> Use:
    own = Experiment.objects.filter(assignments__arm__study=study).distinct()
    calls = ModelCall.objects.filter(request__experiment__in=own).aggregate(
        calls=Count("pk"),
        tokens=Sum(F("prompt_tokens") + F("completion_tokens"), default=0),
        estimated=Count("pk", filter=Q(estimated=True)),
        known=Sum("cost", default=0.0),
        unknown=Count("pk", filter=Q(cost=None)),
    )
    runs = Run.objects.filter(request__experiment__in=own).aggregate(
        took=Sum("seconds", default=0.0), simulated=Sum("samples", default=0)
    )
    training = Job.objects.filter(kind=Job.Kind.TRAIN, status=Job.Status.RUNNING).count()
    return Use(
        calls=calls["calls"],
        tokens=calls["tokens"],
        estimated=calls["estimated"],
        cost=calls["known"],
        unknown_costs=calls["unknown"],
        train_seconds=runs["took"],
        samples=runs["simulated"],
        rounds_left=_rounds_left(study, places),
        round_seconds=_round_seconds(study),
        lines=max(1, training),
    )


def _rounds_left(study: Study, places: Sequence[Place]) -> int:
    """Rounds to be computed for those who are in: each experiment once, and those that they have yet to begin."""
    people = [place.participant for place in places if place.kind not in ("invited", "finished", "out", "failed")]
    waiting = Assignment.objects.filter(participant__in=people).select_related("arm", "experiment")
    begun = {a.experiment.pk: a.experiment for a in waiting if a.experiment}
    tried = Request.objects.filter(experiment__in=begun, kind__in=TRIED, status=Request.Status.DONE)
    newest = dict(tried.order_by("step").values_list("experiment", "payload__iteration"))
    over = (Experiment.Status.FINISHED, Experiment.Status.CANCELLED)
    going_on = [e for e in begun.values() if e.status not in over and not e.ends_early]
    left: int = sum(max(0, e.rounds - newest.get(e.pk, 0)) for e in going_on)
    return left + round(sum(a.arm.rounds / a.arm.panel for a in waiting if a.experiment is None))


def _round_seconds(study: Study) -> float | None:
    """Mean seconds of a round's jobs here: those of the study itself, which differ by task and preset from others'."""
    jobs = Job.objects.filter(
        experiment__assignments__arm__study=study, status=Job.Status.DONE, started_at__isnull=False
    ).distinct()
    took = ExpressionWrapper(F("finished_at") - F("started_at"), output_field=DurationField())
    means = [jobs.filter(kind=kind).aggregate(mean=Avg(took))["mean"] for kind in WORK]
    return sum(mean.total_seconds() for mean in means) if all(means) else None


def people_table(found: Board) -> Table:
    """Where everybody is, for a file."""
    rows = tuple(
        (
            place.participant.label,
            place.assignment.arm.name if place.assignment else None,
            KINDS[place.kind],
            place.words,
            place.since.isoformat(timespec="seconds") if place.since else None,
            place.votes,
        )
        for place in found.places
    )
    return Table("people", f"People of {found.study}", ("participant", "arm", "state", "where", "since", "votes"), rows)
