"""What the experiments of a comparison gave, read from their rows."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import mean, stdev
from typing import Any

from django.db.models import Count, DurationField, ExpressionWrapper, F, Func, IntegerField, Max, Q, QuerySet, Sum

from webapp.comparisons.plan import Arm, Cell, Plan
from webapp.experiments.kinds import JUDGED, KINDS
from webapp.experiments.models import Candidate, Experiment, Job, ModelCall, Request, Run

MADE_BY = "progress__made_by"
GPU_DEVICES = ("cuda", "bridge:isaacgym")
"""How the names of devices begin whose physics or networks a GPU computes."""
REMEMBERED_EXPERIMENTS = 20
"""What a candidate takes is an average over this many experiments."""


@dataclass(frozen=True)
class Round:
    """One round of one experiment."""

    number: int
    candidates: int
    """Trained up to and including this round, failed ones too: what the budget counts."""
    best: float | None
    """Highest RTS of the round."""
    mean: float | None
    best_so_far: float | None


@dataclass(frozen=True)
class Result:
    """One experiment, of a row here or of a report that was written elsewhere."""

    arm: Arm
    task: str
    index: int
    public_id: uuid.UUID
    status: str
    seed: int
    rounds: tuple[Round, ...]
    ts: float | None
    """Task score; None while unfinished."""
    failed: int
    """Candidates that could not be trained or tested."""
    queries: int
    """Pairwise comparisons that were asked of the judge."""
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """US dollars; None where some call's price is not known."""
    train_seconds: float
    gpu_seconds: float | None = None
    """Those of them on a GPU; None where some training does not say where it ran."""
    finished_at: datetime | None = None
    error: str = ""
    """Why it stopped; not kept in reports, which are read back for what is finished."""
    version: str = ""
    """Of Prefine, where its candidates were tried; known to reports alone, as what follows. Empty where unknown."""
    machine: str = ""
    code_diversity: float | None = None
    """Mean distance of the programs that were tried together, mean over the rounds; None on problems."""
    film_diversity: float | None = None
    """The same of what robots did."""
    folder: str = ""
    """Of the report that it was read from; empty where it is a row here."""

    @property
    def best(self) -> float | None:
        """The highest RTS of any candidate, whether the method ended with it or not."""
        return self.rounds[-1].best_so_far if self.rounds else None

    @property
    def finished(self) -> bool:
        return self.status == Experiment.Status.FINISHED


NOWHERE: Mapping[uuid.UUID, Result] = {}
"""Nothing was finished elsewhere."""


@dataclass(frozen=True)
class Score:
    """An arm on a task, over its finished experiments."""

    arm: Arm
    task: str
    results: tuple[Result, ...]

    @property
    def values(self) -> list[float]:
        return [r.ts for r in self.results if r.ts is not None]

    @property
    def fts(self) -> float | None:
        """The highest TS."""
        return max(self.values, default=None)

    @property
    def mean(self) -> float | None:
        return mean(self.values) if self.values else None

    @property
    def deviation(self) -> float | None:
        """Standard deviation of the sample, with n - 1; None below two values."""
        return stdev(self.values) if len(self.values) > 1 else None

    def mean_of(self, field: str) -> float | None:
        """Of a number of the finished experiments; None where there are none, or one does not know it."""
        known = [value for result in self.results if (value := getattr(result, field)) is not None]
        return mean(known) if known and len(known) == len(self.results) else None


def scores(plan: Plan, found: Sequence[Result]) -> list[Score]:
    """Of these results of the plan: task by task, in the order of its arms."""
    return [
        Score(arm, task, tuple(r for r in found if r.finished and (r.task, r.arm) == (task, arm)))
        for task in plan.tasks
        for arm in plan.arms
    ]


def results(plan: Plan, elsewhere: Mapping[uuid.UUID, Result] = NOWHERE) -> list[Result]:
    """Every experiment of the plan that has begun, in the plan's order; as many queries however many these are.

    What is not finished here counts as it was finished elsewhere.
    """
    rows = plan.existing()
    spent = _spent([row.pk for row in rows.values()])
    rounds = _rounds([row.pk for row in rows.values()])
    found = []
    for cell in plan.cells():
        number = plan.public_id(cell)
        row = rows.get(number)
        if number in elsewhere and (row is None or row.status != Experiment.Status.FINISHED):
            found.append(elsewhere[number])
        elif row is not None:
            found.append(_result(cell, row, rounds.get(row.pk, ()), spent[row.pk]))
    return found


@dataclass(frozen=True)
class _Spent:
    """What an experiment has used up."""

    failed: int
    queries: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    train_seconds: float
    gpu_seconds: float | None


def _spent(experiments: Sequence[int]) -> dict[int, _Spent]:
    """By experiment."""
    failed = Candidate.objects.filter(iteration__experiment__in=experiments, status=Candidate.Status.FAILED).order_by()
    lost = dict(failed.values_list("iteration__experiment").annotate(Count("pk")))
    asked: Counter[int] = Counter()
    for experiment, kind, payload, result in (
        _judged().filter(experiment__in=experiments).values_list("experiment", *ANSWER)
    ):
        asked[experiment] += comparisons(kind, payload, result)
    paid = ModelCall.objects.filter(request__experiment__in=experiments).order_by().values("request__experiment")
    sums = paid.annotate(
        calls=Count("pk"),
        tokens_in=Sum("prompt_tokens", default=0),
        tokens_out=Sum("completion_tokens", default=0),
        known=Sum("cost", default=0.0),
        unknown=Count("pk", filter=Q(cost=None)),
    )
    calls = {row["request__experiment"]: row for row in sums}
    runs = Run.objects.filter(request__experiment__in=experiments).order_by().values_list("request__experiment")
    seconds = dict(runs.annotate(Sum("seconds")))
    on_gpu = _on_gpu(experiments)
    nothing: dict[str, Any] = {"calls": 0, "tokens_in": 0, "tokens_out": 0, "known": 0.0, "unknown": 0}
    found = {}
    for pk in experiments:
        bill = calls.get(pk, nothing)
        found[pk] = _Spent(
            failed=lost.get(pk, 0),
            queries=asked[pk],
            calls=bill["calls"],
            prompt_tokens=bill["tokens_in"],
            completion_tokens=bill["tokens_out"],
            cost=None if bill["unknown"] else bill["known"],
            train_seconds=seconds.get(pk, 0.0),
            gpu_seconds=on_gpu.get(pk, 0.0),
        )
    return found


def _on_gpu(experiments: Sequence[int]) -> dict[int, float | None]:
    """By experiment that has trained, the seconds of its trainings on a GPU; None where some does not say where it ran.

    A training says so in the row of its job (webapp.experiments.provenance); those of earlier versions do not.
    """
    done = Job.objects.filter(experiment__in=experiments, kind=Job.Kind.TRAIN, status=Job.Status.DONE).order_by("pk")
    devices = {request: (maker or {}).get("device") for request, maker in done.values_list("request", MADE_BY)}
    sums: dict[int, float | None] = {}
    trained = Run.objects.filter(request__experiment__in=experiments).order_by("pk")
    for experiment, request, seconds in trained.values_list("request__experiment", "request", "seconds"):
        device, before = devices.get(request), sums.get(experiment, 0.0)
        if device is None or before is None:
            sums[experiment] = None
        else:
            sums[experiment] = before + (seconds if device.startswith(GPU_DEVICES) else 0.0)
    return sums


def _result(cell: Cell, experiment: Experiment, rounds: tuple[Round, ...], spent: _Spent) -> Result:
    return Result(
        arm=cell.arm,
        task=cell.task,
        index=cell.index,
        public_id=experiment.public_id,
        status=experiment.status,
        seed=experiment.seed,
        rounds=rounds,
        ts=task_score(experiment),
        **vars(spent),
        finished_at=experiment.finished_at,
        error=experiment.error,
    )


def task_score(experiment: Experiment) -> float | None:
    """TS: the RTS of the candidate that the experiment ended with; None while unfinished.

    Where a faultless proxy chooses among all rounds that is the highest RTS of all, as the ICPL paper defines it.
    """
    ended = experiment.status == Experiment.Status.FINISHED and experiment.winner
    return ended.rts if ended else None


def _rounds(experiments: Sequence[int]) -> dict[int, tuple[Round, ...]]:
    """By experiment, the rounds in which training is over."""
    over = (Candidate.Status.TRAINED, Candidate.Status.FAILED)
    scores: dict[int, dict[int, list[float | None]]] = defaultdict(lambda: defaultdict(list))
    unfinished = set()
    rows = Candidate.objects.filter(iteration__experiment__in=experiments).exclude(status=Candidate.Status.ASIDE)
    rows = rows.order_by("iteration__number")
    columns = ("iteration__experiment", "iteration__number", "status", "rts")  # not their programs
    for experiment, number, status, rts in rows.values_list(*columns):
        scores[experiment][number].append(rts)
        if status not in over:
            unfinished.add((experiment, number))
    return {
        pk: _added_up({number: values for number, values in own.items() if (pk, number) not in unfinished})
        for pk, own in scores.items()
    }


def _added_up(scores: Mapping[int, Sequence[float | None]]) -> tuple[Round, ...]:
    """The rounds of one experiment, from the RTS of their candidates, None where one failed."""
    found: list[Round] = []
    for number, values in scores.items():
        known = [value for value in values if value is not None]
        before = found[-1] if found else None
        earlier = [before.best_so_far] if before and before.best_so_far is not None else []
        found.append(
            Round(
                number=number,
                candidates=len(values) + (before.candidates if before else 0),
                best=max(known, default=None),
                mean=mean(known) if known else None,
                best_so_far=max([*known, *earlier], default=None),
            )
        )
    return tuple(found)


ANSWER = ("kind", "payload", "result")


def _judged() -> QuerySet[Request]:
    return Request.objects.filter(kind__in=JUDGED, status=Request.Status.DONE)


def queries(experiment: Experiment) -> int:
    """Pairwise comparisons asked for, as the ICPL paper counts them."""
    asked = _judged().filter(experiment=experiment).values_list(*ANSWER)
    return sum(comparisons(*judged) for judged in asked)


def comparisons(kind: str, payload: Mapping[str, Any], result: Any) -> int:
    """Best of m, then worst of the rest, are 2m - 3; a choice among m, or of the best alone, is m - 1."""
    judgement = KINDS[kind].judgement
    return judgement.pairs(payload, result) if judgement else 0


def seconds_per_candidate(plan: Plan, tasks: Iterable[str]) -> dict[str, float]:
    """By task what one candidate took here so far, with all that was asked, written, trained and filmed for it.

    Over the newest experiments on the task with the plan's settings and writing model; without tasks that have none.
    Two queries, however many tasks there are.
    """
    like = Q(experiment__task__in=tasks, experiment__preset=plan.preset, experiment__overrides=dict(plan.overrides))
    done = Job.objects.filter(like, experiment__model=plan.model, status=Job.Status.DONE, attempt=1).order_by()
    trained = done.filter(kind=Job.Kind.TRAIN).values_list("experiment__task", "experiment").annotate(newest=Max("pk"))
    lately: dict[str, list[int]] = defaultdict(list)
    for task, experiment, _ in trained.order_by("-newest"):
        lately[task].append(experiment)
    newest = [experiment for own in lately.values() for experiment in own[:REMEMBERED_EXPERIMENTS]]
    found = done.filter(experiment__in=newest).values_list("experiment__task")
    sums = found.annotate(
        took=Sum(
            ExpressionWrapper(F("finished_at") - F("started_at"), output_field=DurationField()),
            filter=~Q(kind=Job.Kind.FILM, percent__lt=100),
        ),
        count=Sum(_Named("request__payload"), filter=Q(kind=Job.Kind.TRAIN)),
    )
    return {task: took.total_seconds() / count for task, took, count in sums if took and count}


class _Named(Func):
    """How many candidates a request names."""

    output_field = IntegerField()
    template = "JSON_ARRAY_LENGTH(%(expressions)s, '$.candidates')"

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(
            compiler, connection, template="JSONB_ARRAY_LENGTH(%(expressions)s -> 'candidates')", **context
        )
