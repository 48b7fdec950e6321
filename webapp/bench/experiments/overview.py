"""What the bench shows of an experiment: a fixed number of queries, then plain records for the templates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Count, Max, Q, QuerySet, Sum
from django.urls import reverse
from django.utils import timezone

from webapp.base import charts
from webapp.bench.experiments.prompt_versions import Asked, asked_by
from webapp.comparisons import experiment_results
from webapp.experiments import figures, progress, revisions, upgrades
from webapp.experiments.kinds import KINDS
from webapp.experiments.models import (
    Candidate,
    Clip,
    Event,
    Experiment,
    Iteration,
    Job,
    ModelCall,
    Request,
    Run,
)
from webapp.review import panels
from webapp.studies.assigning import find_participants
from webapp.studies.models import Participant

ACTIVE = (Job.Status.QUEUED, Job.Status.RUNNING)
QUIET = ("locked", "stopped", "undone")
"""Events that only tell a participant's page to look again; the same moment has one with words."""
LOG_LENGTH = 200
PEOPLE = "assignments__participant__study"


@dataclass(frozen=True)
class Card:
    """One candidate in its round's row."""

    candidate: Candidate
    clips: dict[int, Clip]
    fraction: float | None
    """How far its training is, while it trains."""
    share: float | None
    """Its score as a part of the experiment's highest, for the bar."""
    badges: tuple[str, ...]
    """Among best, worst, winner."""
    parent_key: str

    @property
    def key(self) -> str:
        return self.candidate.key

    @property
    def aside(self) -> bool:
        """Whether it is of an earlier flow of the method, and today's has no use for it."""
        return self.candidate.status == Candidate.Status.ASIDE

    @property
    def clip(self) -> Clip | None:
        """The latest that can be played."""
        ready = [clip for clip in self.clips.values() if clip.status == Clip.Status.READY]
        return max(ready, key=lambda clip: clip.percent, default=None)

    @property
    def failed_clips(self) -> list[Clip]:
        return [clip for clip in self.clips.values() if clip.status == Clip.Status.FAILED]


@dataclass(frozen=True)
class Step:
    """One request of a round: what was asked for, and how long it took."""

    kind: str
    status: str
    seconds: float | None

    @property
    def verb(self) -> str:
        return KINDS[self.kind].verb


@dataclass(frozen=True)
class Round:
    iteration: Iteration
    cards: tuple[Card, ...]
    steps: tuple[Step, ...]
    jobs: tuple[Job, ...]
    pooled: tuple[panels.PanelResult, ...] = ()

    @property
    def number(self) -> int:
        return self.iteration.number

    @cached_property
    def scores(self) -> tuple[float, ...]:
        found = (charts.finite(card.candidate.rts) for card in self.cards if not card.aside)
        return tuple(score for score in found if score is not None)

    @property
    def top(self) -> float | None:
        return max(self.scores, default=None)

    @property
    def mean(self) -> float | None:
        return sum(self.scores) / len(self.scores) if self.scores else None

    @property
    def job(self) -> Job | None:
        """What one waits for: training rather than the films that follow it."""
        order = ("train", "write", "ask", "film")
        return min(self.jobs, key=lambda job: order.index(job.kind), default=None)

    @property
    def shown(self) -> Card | None:
        """The card that stands for the round in the timeline: the pick, or the first that can be played."""
        picked = (card for card in self.cards if "best" in card.badges)
        return next(picked, None) or next((card for card in self.cards if card.clip), None)

    @property
    def phase(self) -> str:
        """What the round waits for: writing, training, picking (a person), judging (a model); or done, or failed."""
        if any(step.status == Request.Status.FAILED for step in self.steps):
            return "failed"
        if self.iteration.aside:
            return "set aside"
        if self.iteration.finished_at:
            return "done"
        waiting = next((KINDS[step.kind] for step in self.steps if step.status == Request.Status.OPEN), None)
        if waiting is None:
            return "trained"
        return "judging" if waiting.judgement and self.jobs else waiting.phase  # with a job, a model judges


@dataclass(frozen=True)
class Totals:
    """What the experiment has used up. Costs that no endpoint or price table tells are counted, never guessed."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    estimated: int
    """Answers whose tokens are counted from their letters: their endpoint did not say."""
    cost: float
    unknown_costs: int
    train_seconds: float
    samples: int
    nan_worlds: int
    queries: int
    """Q: times that a person was asked."""
    seconds: float | None
    """From start to end, or until now."""


@dataclass(frozen=True)
class Board:
    experiment: Experiment
    rounds: tuple[Round, ...]
    jobs: tuple[Job, ...]
    """Those queued or running."""
    queued_before: int
    """Jobs of other experiments that wait in front of this one's first."""
    totals: Totals
    progress: progress.Progress
    voted: tuple[int, int] | None
    """How many of a panel have chosen in what waits for them, and of how many; None where nothing waits for several."""

    asked_by: tuple[Asked, ...]
    """One for each stretch of steps."""
    set_aside: int
    """Answers of an earlier flow of the method that today's has no use for."""

    @property
    def can_end(self) -> bool:
        """Whether there is anything to choose a winner from."""
        return bool(revisions.bests(self.experiment))

    @property
    def can_follow(self) -> bool:
        return upgrades.has_today(self.experiment)

    @property
    def url(self) -> str:
        return reverse("bench:experiment", args=[self.experiment.public_id])

    @property
    def people(self) -> list[Participant]:
        return find_participants(self.experiment)

    @property
    def busy(self) -> bool:
        """Numbers move without an event: the page looks again by itself."""
        return any(job.status == Job.Status.RUNNING for job in self.jobs)

    @property
    def metric(self) -> str:
        return self.experiment.task_info.metric or ""

    @property
    def winner(self) -> Card | None:
        cards = (card for row in self.rounds for card in row.cards)
        return next((card for card in cards if "winner" in card.badges), None)

    @property
    def current(self) -> Round | None:
        return next((row for row in reversed(self.rounds) if not row.iteration.aside), None)

    @property
    def upcoming(self) -> range:
        """Numbers of the rounds that have not begun."""
        if self.experiment.ends_early:
            return range(0)
        return range(len(self.rounds) + 1, self.experiment.rounds + 1)

    @property
    def chart(self) -> charts.Chart:
        scores = [(row.number, row.scores) for row in self.rounds]
        return figures.rounds_chart(self.metric, scores, self.experiment.rounds)

    @property
    def failed_step(self) -> str:
        failed = (
            f"{step.kind} of round {row.number}"
            for row in self.rounds
            for step in row.steps
            if step.status == Request.Status.FAILED
        )
        return next(failed, "the replay of the method")

    @property
    def asks(self) -> bool:
        """A model is asked something, or is to be."""
        return any(job.kind == Job.Kind.ASK for job in self.jobs)

    @property
    def nobody_works(self) -> bool:
        """Work has waited for a while and no worker took any of it."""
        busy = any(job.status == Job.Status.RUNNING for job in self.jobs)
        if self.experiment.paused or self.queued_before or busy:
            return False
        return any((timezone.now() - job.created_at).total_seconds() > 20 for job in self.jobs)


def board(experiment: Experiment) -> Board:
    """Everything about one experiment, in a fixed number of queries however many rounds it has."""
    jobs = tuple(experiment.jobs.filter(status__in=ACTIVE).select_related("request"))
    spans, set_aside = asked_by(experiment)
    return Board(
        experiment=experiment,
        rounds=_rounds(experiment, jobs),
        jobs=jobs,
        queued_before=_queued_before(jobs),
        totals=_totals(experiment),
        progress=progress.of(experiment),
        voted=panels.count_voted(experiment),
        asked_by=spans,
        set_aside=set_aside,
    )


def _rounds(experiment: Experiment, jobs: tuple[Job, ...]) -> tuple[Round, ...]:
    candidates = list(
        Candidate.objects.filter(iteration__experiment=experiment)
        .select_related("iteration")
        .defer("source", "trace", "metric_trace")
    )
    clips: dict[int, dict[int, Clip]] = defaultdict(dict)
    for clip in Clip.objects.filter(candidate__iteration__experiment=experiment):
        clips[clip.candidate_id][clip.percent] = clip
    steps, pooled, iteration_of = _steps(experiment)
    keys = {candidate.pk: candidate.key for candidate in candidates}
    scores = [abs(score) for candidate in candidates if (score := charts.finite(candidate.rts)) is not None]
    rows = []
    for iteration in experiment.iterations.all():
        own = tuple(job for job in jobs if iteration_of.get(job.request_id) == iteration.number)
        fractions = _fractions(own)
        cards = tuple(
            Card(
                candidate=candidate,
                clips=clips[candidate.pk],
                fraction=fractions.get(candidate.key),
                share=_share(candidate.rts, max(scores, default=0)),
                badges=_badges(candidate, iteration, experiment),
                parent_key=keys.get(candidate.parent_id or 0, ""),
            )
            for candidate in candidates
            if candidate.iteration_id == iteration.pk
        )
        rows.append(Round(iteration, cards, tuple(steps[iteration.number]), own, tuple(pooled[iteration.number])))
    return tuple(rows)


def _steps(
    experiment: Experiment,
) -> tuple[dict[int, list[Step]], dict[int, list[panels.PanelResult]], dict[int | None, int]]:
    """The requests by round, how panels decided in it, and each request's round. The winner counts to the last one."""
    steps: dict[int, list[Step]] = defaultdict(list)
    pooled: dict[int, list[panels.PanelResult]] = defaultdict(list)
    iteration_of: dict[int | None, int] = {}
    fields = ("pk", "kind", "status", "created_at", "finished_at", "payload__iteration", "pooled")
    rows = experiment.requests.exclude(status=Request.Status.ASIDE)
    for pk, kind, status, begun, ended, iteration, result in rows.values_list(*fields):
        if iteration is not None:
            steps[iteration].append(Step(kind, status, (ended - begun).total_seconds() if ended else None))
            iteration_of[pk] = iteration
        if result:
            pooled[iteration or max(steps, default=0)].append(panels.read_pooled(kind, result))
    return steps, pooled, iteration_of


def _fractions(jobs: Iterable[Job]) -> dict[str, float]:
    """How far each candidate's training is, by its id."""
    said = [progress.said_of(job) for job in jobs if job.kind == Job.Kind.TRAIN]
    return {key: float(str(entry["fraction"])) for one in said for key, entry in one.items()}


def _share(rts: float | None, highest: float) -> float | None:
    value = charts.finite(rts)
    return None if value is None or not highest else max(0.0, value / highest)


def _badges(candidate: Candidate, iteration: Iteration, experiment: Experiment) -> tuple[str, ...]:
    marked = {"winner": experiment.winner_id, "best": iteration.best_id, "worst": iteration.worst_id}
    return tuple(name for name, pk in marked.items() if pk == candidate.pk)


def _queued_before(jobs: tuple[Job, ...]) -> int:
    waiting = [job for job in jobs if job.status == Job.Status.QUEUED]
    if not waiting or any(job.status == Job.Status.RUNNING for job in jobs):
        return 0
    kinds = [kind for kind, queue in Job.QUEUES.items() if queue == waiting[0].queue]
    others = Job.objects.filter(status__in=ACTIVE, kind__in=kinds, id__lt=waiting[0].pk)
    return others.exclude(experiment=waiting[0].experiment_id).count()


def _totals(experiment: Experiment) -> Totals:
    calls = ModelCall.objects.filter(request__experiment=experiment).aggregate(
        calls=Count("pk"),
        tokens_in=Sum("prompt_tokens", default=0),
        tokens_out=Sum("completion_tokens", default=0),
        estimated=Count("pk", filter=Q(estimated=True)),
        known=Sum("cost", default=0.0),
        unknown=Count("pk", filter=Q(cost=None)),
    )
    runs = Run.objects.filter(request__experiment=experiment).aggregate(
        took=Sum("seconds", default=0.0),
        simulated=Sum("samples", default=0),
        lost=Sum("nan_worlds", default=0),
    )
    return Totals(
        calls=calls["calls"],
        prompt_tokens=calls["tokens_in"],
        completion_tokens=calls["tokens_out"],
        estimated=calls["estimated"],
        cost=calls["known"],
        unknown_costs=calls["unknown"],
        train_seconds=runs["took"],
        samples=runs["simulated"],
        nan_worlds=runs["lost"],
        queries=experiment_results.queries(experiment) if experiment.judge_info.asks_people else 0,
        seconds=elapsed(experiment),
    )


def elapsed(experiment: Experiment) -> float | None:
    """Seconds from start to end; None while it runs, where a page counts by itself, and before it starts."""
    if experiment.started_at is None or experiment.finished_at is None:
        return None
    return float((experiment.finished_at - experiment.started_at).total_seconds())


def log(experiment: Experiment, text: str = "", kind: str = "") -> list[Event]:
    """The newest events first, those with this text and of this kind."""
    events = experiment.events.exclude(kind__in=QUIET)
    if text:
        events = events.filter(Q(text__icontains=text) | Q(kind__icontains=text))
    if kind:
        events = events.filter(kind=kind)
    return list(events.order_by("-id")[:LOG_LENGTH])


def kinds(experiment: Experiment) -> list[str]:
    found = experiment.events.exclude(kind__in=QUIET).order_by("kind").values_list("kind", flat=True).distinct()
    return list(found)


def listed() -> QuerySet[Any, Any]:
    """Every experiment with what its row in the list says: the newest first."""
    rows = Experiment.objects.select_related("winner__iteration")
    begun = Count("iterations", distinct=True, filter=Q(iterations__aside=False))
    highest = Max("iterations__candidates__rts", filter=~Q(iterations__candidates__status=Candidate.Status.ASIDE))
    return rows.annotate(round=begun, rts=highest).order_by("-created_at")


def latest_progress(experiments: Iterable[Experiment]) -> dict[int, Job]:
    """By experiment, the running job whose end one waits for."""
    running = Job.objects.filter(experiment__in=experiments, status=Job.Status.RUNNING).order_by("id")
    order = {"train": 2, "film": 1}
    found: dict[int, Job] = {}
    for job in running:
        known = found.get(job.experiment_id)
        if known is None or order.get(job.kind, 0) >= order.get(known.kind, 0):
            found[job.experiment_id] = job
    return found
