"""What the experiments of a comparison gave, read from their rows."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean, stdev

from django.db.models import Count, DurationField, ExpressionWrapper, F, Prefetch, Q, Sum

from webapp.experiments.comparison.plan import Arm, Plan
from webapp.experiments.models import Candidate, Experiment, Job, ModelCall, Request, Run


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
    """One experiment."""

    arm: Arm
    task: str
    index: int
    experiment: Experiment
    rounds: tuple[Round, ...]
    ts: float | None
    """Task score; None while unfinished."""
    failed: int
    """Candidates that could not be trained."""
    queries: int
    """Pairwise comparisons that were asked of the judge."""
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """US dollars; None where some call's price is not known."""
    train_seconds: float

    @property
    def best(self) -> float | None:
        """The highest RTS of any candidate, whether the method ended with it or not."""
        return self.rounds[-1].best_so_far if self.rounds else None

    @property
    def finished(self) -> bool:
        return self.experiment.status == Experiment.Status.FINISHED


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


def scores(plan: Plan) -> list[Score]:
    """Task by task, in the order of the plan's arms."""
    found = results(plan)
    return [
        Score(arm, task, tuple(r for r in found if r.finished and (r.task, r.arm) == (task, arm)))
        for task in plan.tasks
        for arm in plan.arms
    ]


def results(plan: Plan) -> list[Result]:
    """Every experiment of the plan that has begun, in the plan's order."""
    rows = plan.existing()
    cells = [(cell, rows.get(plan.public_id(cell))) for cell in plan.cells()]
    return [_result(cell.arm, cell.task, cell.index, row) for cell, row in cells if row is not None]


def _result(arm: Arm, task: str, index: int, experiment: Experiment) -> Result:
    rounds = _rounds(experiment)
    calls = ModelCall.objects.filter(request__experiment=experiment).aggregate(
        calls=Count("pk"),
        tokens_in=Sum("prompt_tokens", default=0),
        tokens_out=Sum("completion_tokens", default=0),
        known=Sum("cost", default=0.0),
        unknown=Count("pk", filter=Q(cost=None)),
    )
    candidates = Candidate.objects.filter(iteration__experiment=experiment)
    seconds = Run.objects.filter(request__experiment=experiment).aggregate(took=Sum("seconds", default=0.0))
    return Result(
        arm=arm,
        task=task,
        index=index,
        experiment=experiment,
        rounds=rounds,
        ts=task_score(experiment),
        failed=candidates.filter(status=Candidate.Status.FAILED).count(),
        queries=queries(experiment),
        calls=calls["calls"],
        prompt_tokens=calls["tokens_in"],
        completion_tokens=calls["tokens_out"],
        cost=None if calls["unknown"] else calls["known"],
        train_seconds=seconds["took"],
    )


def task_score(experiment: Experiment) -> float | None:
    """TS: the RTS of the candidate that the experiment ended with; None while unfinished.

    Where a faultless proxy chooses among all rounds that is the highest RTS of all, as the ICPL paper defines it.
    """
    ended = experiment.status == Experiment.Status.FINISHED and experiment.winner
    return ended.rts if ended else None


def _rounds(experiment: Experiment) -> tuple[Round, ...]:
    """The rounds in which training is over."""
    over = (Candidate.Status.TRAINED, Candidate.Status.FAILED)
    found: list[Round] = []
    scored = Prefetch("candidates", Candidate.objects.only("iteration", "status", "rts"))  # not their programs
    for iteration in experiment.iterations.prefetch_related(scored):
        trained = [c for c in iteration.candidates.all() if c.status in over]
        if not trained or len(trained) < len(iteration.candidates.all()):
            continue
        values = [c.rts for c in trained if c.rts is not None]
        before = found[-1] if found else None
        known = [*values, *([before.best_so_far] if before and before.best_so_far is not None else [])]
        found.append(
            Round(
                number=iteration.number,
                candidates=len(trained) + (before.candidates if before else 0),
                best=max(values, default=None),
                mean=mean(values) if values else None,
                best_so_far=max(known, default=None),
            )
        )
    return tuple(found)


def queries(experiment: Experiment) -> int:
    """Pairwise comparisons asked for, as the ICPL paper counts them."""
    asked = experiment.requests.filter(kind__in=("Judge", "Choose", "Compare"), status=Request.Status.DONE)
    return sum(comparisons(kind, len(payload["candidates"])) for kind, payload in asked.values_list("kind", "payload"))


def comparisons(kind: str, shown: int) -> int:
    """Best of m, then worst of the rest, are 2m - 3; a choice among m is m - 1."""
    return 1 if kind == "Compare" else shown - 1 if kind == "Choose" else max(0, 2 * shown - 3)


def seconds_per_candidate(plan: Plan, task: str) -> float | None:
    """What one candidate took here so far, with all that was asked, written, trained and filmed for it.

    Over experiments on this task with the plan's settings and writing model; None where none was ever trained.
    """
    like = Q(experiment__task=task, experiment__preset=plan.preset, experiment__overrides=dict(plan.overrides))
    done = Job.objects.filter(like, experiment__model=plan.model, status=Job.Status.DONE, attempt=1)
    trained = done.filter(kind=Job.Kind.TRAIN).select_related("request")
    count = sum(len(job.request.payload["candidates"]) for job in trained if job.request)
    if not count:
        return None
    took = ExpressionWrapper(F("finished_at") - F("started_at"), output_field=DurationField())
    waited = done.exclude(kind=Job.Kind.FILM, percent__lt=100).aggregate(took=Sum(took))["took"]
    return float(waited.total_seconds() / count) if waited else None
