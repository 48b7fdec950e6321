"""The results of a comparison's experiments, read from their rows."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import mean, stdev
from typing import Any

from django.db.models import Count

from webapp.comparisons.arms import Arm
from webapp.comparisons.judged_queries import ANSWER_FIELDS, count_pairs, filter_judged
from webapp.comparisons.plan import Plan
from webapp.experiments.alignment import NONE, Alignment, read_alignments
from webapp.experiments.job_kinds import TRAINING_KINDS
from webapp.experiments.models import Candidate, Experiment, Job, Run
from webapp.experiments.pair_sessions import count_filmed
from webapp.experiments.resource_use import Usage, read_usage

MADE_BY_FIELD = "progress__made_by"
GPU_DEVICES = ("cuda", "bridge:isaacgym")
"""How the names of devices begin that compute physics or networks on a GPU."""


@dataclass(frozen=True)
class Round:
    """One round of one experiment."""

    number: int
    candidates: int
    """Trained up to and including this round, failed ones too, as the budget counts them."""
    best: float | None
    """Highest RTS of the round."""
    mean: float | None
    best_so_far: float | None


@dataclass(frozen=True)
class Result:
    """One experiment, from a row here or from a report that was written elsewhere."""

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
    """Pairwise comparisons asked of the judge."""
    calls: int
    """Answers of language models; in reports of earlier versions those of the offline writer too."""
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """US dollars; None where the price of a call is not known."""
    train_seconds: float
    offline_calls: int | None = None
    """Answers of the offline writer, which is no language model; None where a report does not count them apart."""
    gpu_seconds: float | None = None
    """The part of it on a GPU; None where a training does not say where it ran."""
    finished_at: datetime | None = None
    ended_early: bool = False
    """Somebody broke its flow off: the winner was chosen among the rounds that were there."""
    error: str = ""
    """Why it stopped; reports do not keep it."""
    version: str = ""
    """The version of Prefine that tried its candidates. This field and the next ones are filled in for reports alone;
    they are empty where unknown."""
    machine: str = ""
    code_diversity: float | None = None
    """Mean distance of the programs that were tried together, mean over the rounds; None on problems."""
    film_diversity: float | None = None
    """Mean distance of their films, mean over the rounds."""
    evaluated: bool = False
    """Whether its score is that of policies without exploration (Plan.is_evaluated); else it is the TS."""
    retrained: tuple[float, ...] = ()
    """The score of each policy that was trained with the winner's reward and another seed; empty before that."""
    peaks: tuple[float, ...] = ()
    """The RTS of each of these: its best moment, not its end. Reports of earlier versions do not keep them."""
    alignment: Alignment = NONE
    """How far its policies do what the task says, where somebody rated their films."""
    sessions: tuple[Mapping[str, Any], ...] = ()
    """Of a policy that learned from answers about pairs; reports do not keep them."""
    filmed_pairs: int = 0
    """How many of its pairs pages show films of."""
    rewards: tuple[float | None, float | None] = (None, None)
    """What a step of such a policy was worth in the last tenth of its training: by the reward that it learned, and by
    the reward function beside it.
    """
    folder: str = ""
    """The folder of the report that it was read from; empty for a row here."""

    @property
    def best(self) -> float | None:
        """The highest RTS of any candidate, chosen at the end or not."""
        return self.rounds[-1].best_so_far if self.rounds else None

    @property
    def score(self) -> float | None:
        """What methods are compared by: the mean of its winner's retrainings, or the TS where nothing is trained."""
        if not self.evaluated:
            return self.ts
        return mean(self.retrained) if self.retrained else None

    @property
    def finished(self) -> bool:
        return self.status == Experiment.Status.FINISHED

    @property
    def shortfall(self) -> str:
        """How many of its rounds it had where it was ended early; else empty."""
        return f"{len(self.rounds)} of {self.arm.rounds} rounds" if self.ended_early else ""


@dataclass(frozen=True)
class ReferenceScores:
    """The score of each policy of Human or Sparse on a task, from the report in this folder."""

    scores: tuple[float, ...]
    folder: str
    peaks: tuple[float, ...] = ()
    """The RTS of each, as Result.peaks."""


Elsewhere = Mapping[uuid.UUID, Result | ReferenceScores]
"""What other reports hold, by id."""
NOWHERE: Elsewhere = {}


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
    def scores(self) -> dict[int, float]:
        """What methods are compared by, by repetition."""
        return {r.index: r.score for r in self.results if r.score is not None}

    @property
    def score(self) -> float | None:
        """The mean of them."""
        return _average_known(self.scores.values())

    @property
    def peaks(self) -> list[float]:
        """By experiment, the mean of the best moments of its winner's retrainings."""
        return [mean(r.peaks) for r in self.results if r.peaks]

    @property
    def alignment(self) -> float | None:
        """The mean of those that a vision model rated."""
        return _average_known(r.alignment.rate for r in self.results)

    @property
    def alignment_people(self) -> float | None:
        """The mean of those that people rated."""
        return _average_known(r.alignment.people for r in self.results)

    @property
    def ended_early(self) -> int:
        """How many of these experiments were."""
        return sum(result.ended_early for result in self.results)

    @property
    def fts(self) -> float | None:
        """The highest TS."""
        return max(self.values, default=None)

    @property
    def mean(self) -> float | None:
        return _average_known(self.values)

    @property
    def deviation(self) -> float | None:
        """Standard deviation of the sample, with n - 1; None below two values."""
        return stdev(self.values) if len(self.values) > 1 else None

    def mean_of(self, field: str) -> float | None:
        """Mean of this field over the finished experiments; None where there are none or one value is unknown."""
        known = [value for result in self.results if (value := getattr(result, field)) is not None]
        return mean(known) if known and len(known) == len(self.results) else None


def _average_known(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known else None


def group_scores(plan: Plan, found: Sequence[Result]) -> list[Score]:
    """The results by task and arm, in the order of the plan."""
    return [
        Score(arm, task, tuple(r for r in found if r.finished and (r.task, r.arm) == (task, arm)))
        for task in plan.tasks
        for arm in plan.arms
    ]


NOT_LEARNED: tuple[tuple[Mapping[str, Any], ...], tuple[float | None, float | None]] = ((), (None, None))
"""Sessions and rewards of what asked about no pairs."""


def read_results(plan: Plan, elsewhere: Elsewhere = NOWHERE) -> list[Result]:
    """Every experiment of the plan that has begun, in the plan's order, in a fixed number of queries.

    An experiment that is not finished here is taken from `elsewhere` where it is finished there.
    """
    rows = plan.find_experiments()
    keys = [row.pk for row in rows.values()]
    rounds, usage, failed = _read_rounds(keys), read_usage(keys), _count_failed(keys)
    queries, gpu_seconds = _sum_queries(keys), _sum_gpu_seconds(keys)
    learned = {experiment: (tuple(held), _read_last_rewards(trace)) for experiment, held, trace in _read_sessions(keys)}
    evaluated, peaks = read_evaluations(keys), read_evaluations(keys, peaks=True)
    aligned, filmed = read_alignments(list(rows)), count_filmed(keys)
    found = []
    for cell in plan.cells():
        number = plan.public_id(cell)
        row, there = rows.get(number), elsewhere.get(number)
        if isinstance(there, Result) and (row is None or row.status != Experiment.Status.FINISHED):
            found.append(there)
        elif row is not None:
            used = usage.get(row.pk, Usage())
            scored = rows.get(plan.retraining_id(cell)) if plan.retrains(cell) else row
            result = Result(
                arm=cell.arm,
                task=cell.task,
                index=cell.index,
                public_id=row.public_id,
                status=row.status,
                seed=row.seed,
                rounds=rounds.get(row.pk, ()),
                ts=read_task_score(row),
                failed=failed.get(row.pk, 0),
                queries=queries[row.pk],
                calls=used.model_calls,
                offline_calls=used.offline_calls,
                prompt_tokens=used.prompt_tokens,
                completion_tokens=used.completion_tokens,
                cost=None if used.unknown_costs else used.cost,
                train_seconds=used.train_seconds,
                gpu_seconds=gpu_seconds.get(row.pk, 0.0),
                ended_early=row.ends_early,
                finished_at=row.finished_at,
                error=row.error,
                sessions=learned.get(row.pk, NOT_LEARNED)[0],
                filmed_pairs=filmed.get(row.pk, 0),
                rewards=learned.get(row.pk, NOT_LEARNED)[1],
                evaluated=plan.is_evaluated(cell),
                retrained=evaluated.get(scored.pk, ()) if scored and plan.is_evaluated(cell) else (),
                peaks=peaks.get(scored.pk, ()) if scored and plan.is_evaluated(cell) else (),
                alignment=aligned.get(scored.public_id, NONE) if scored else NONE,
            )
            found.append(result)
    return found


def read_references(
    plan: Plan, elsewhere: Elsewhere = NOWHERE, peaks: bool = False
) -> dict[tuple[str, str], tuple[float, ...]]:
    """By task and reference, the score, or RTS, of each policy that has learned from that reward: here, else elsewhere.
    Without those of which nothing is known.
    """
    rows = plan.find_experiments()
    scores = read_evaluations([row.pk for row in rows.values()], peaks)
    found = {}
    for one in plan.references:
        row, there = rows.get(number := plan.reference_id(*one)), elsewhere.get(number)
        each = scores.get(row.pk) if row else None
        if not each and isinstance(there, ReferenceScores):
            each = there.peaks if peaks else there.scores
        if each:
            found[one] = each
    return found


def read_evaluations(experiments: Sequence[int], peaks: bool = False) -> dict[int, tuple[float, ...]]:
    """By experiment, the scores of its final policies without exploration, or their RTS, where it has finished."""
    rows = Candidate.objects.filter(iteration__experiment__in=experiments, status=Candidate.Status.TRAINED)
    rows = rows.filter(iteration__experiment__status=Experiment.Status.FINISHED).order_by("index")
    found: dict[int, tuple[float, ...]] = defaultdict(tuple)
    for experiment, evaluation, rts in rows.values_list("iteration__experiment", "evaluation", "rts"):
        value = rts if peaks else evaluation.get("score")
        if value is not None and evaluation.get("score") is not None:
            found[experiment] += (value,)
    return dict(found)


def _count_failed(experiments: Sequence[int]) -> dict[int, int]:
    """By experiment, its candidates that could not be trained or tested."""
    failed = Candidate.objects.filter(iteration__experiment__in=experiments, status=Candidate.Status.FAILED).order_by()
    return dict(failed.values_list("iteration__experiment").annotate(Count("pk")))


def _sum_queries(experiments: Sequence[int]) -> Counter[int]:
    """By experiment, the pairwise comparisons that were asked of its judge, those of segments included."""
    queries: Counter[int] = Counter()
    judged = filter_judged().filter(experiment__in=experiments)
    for experiment, kind, payload, result in judged.values_list("experiment", *ANSWER_FIELDS):
        queries[experiment] += count_pairs(kind, payload, result)
    for experiment, sessions, _ in _read_sessions(experiments):
        queries[experiment] += sum(session["asked"] for session in sessions)
    return queries


def _read_sessions(experiments: Sequence[int]) -> Iterator[tuple[int, list[dict[str, Any]], dict[str, Any]]]:
    """The sessions and the trace of each policy that learned from answers about pairs, with its experiment."""
    rows = Candidate.objects.filter(iteration__experiment__in=experiments).exclude(status=Candidate.Status.ASIDE)
    yield from rows.exclude(sessions=[]).order_by().values_list("iteration__experiment", "sessions", "trace")


def _read_last_rewards(trace: Mapping[str, Mapping[str, Any]]) -> tuple[float | None, float | None]:
    """The last of a trace's samples of the learned reward and of the total."""
    learned, total = ((trace.get(name, {}).get("samples") or [None])[-1] for name in ("learned_reward", "total"))
    return learned, total


def _sum_gpu_seconds(experiments: Sequence[int]) -> dict[int, float | None]:
    """By experiment, the seconds of its trainings on a GPU; None where a training does not say where it ran.

    The row of a training's job names the device (webapp.experiments.provenance), but not in earlier versions.
    """
    done = Job.objects.filter(experiment__in=experiments, kind__in=TRAINING_KINDS, status=Job.Status.DONE)
    makers = done.order_by("pk").values_list("request", MADE_BY_FIELD)
    devices = {request: (maker or {}).get("device") for request, maker in makers}
    sums: dict[int, float | None] = {}
    trained = Run.objects.filter(request__experiment__in=experiments).order_by("pk")
    for experiment, request, seconds in trained.values_list("request__experiment", "request", "seconds"):
        device, before = devices.get(request), sums.get(experiment, 0.0)
        if device is None or before is None:
            sums[experiment] = None
        else:
            sums[experiment] = before + (seconds if device.startswith(GPU_DEVICES) else 0.0)
    return sums


def read_task_score(experiment: Experiment) -> float | None:
    """TS: the RTS of the candidate that the experiment ended with; None while unfinished.

    Where a faultless proxy chooses among all rounds it is the highest RTS of all, as the ICPL paper defines it.
    """
    ended = experiment.status == Experiment.Status.FINISHED and experiment.winner
    return ended.rts if ended else None


def _read_rounds(experiments: Sequence[int]) -> dict[int, tuple[Round, ...]]:
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
        pk: _build_rounds({number: values for number, values in own.items() if (pk, number) not in unfinished})
        for pk, own in scores.items()
    }


def _build_rounds(scores: Mapping[int, Sequence[float | None]]) -> tuple[Round, ...]:
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
