"""Where an experiment is and how long the next videos will take, honestly: None where nothing is known yet."""

from __future__ import annotations

import os
from dataclasses import dataclass

from django.db.models import Avg, DurationField, ExpressionWrapper, F, QuerySet

from llm.records import TRIED
from webapp.experiments.models import Candidate, Clip, Experiment, Job, LoopSettings, Request

REMEMBERED_JOBS = 20
"""Estimates are averages over this many earlier jobs of the same kind on this installation."""
SHARES = {"writing": 0.05, "training": 0.85, "filming": 0.10}
"""Shares of a round's wait where nothing was measured yet."""


@dataclass(frozen=True)
class CandidateState:
    """One candidate of the round that is being made. Says nothing about how good it is."""

    index: int
    status: str
    """written, training, trained or failed."""
    fraction: float
    reason: str
    clip: Clip | None
    """The latest clip that can be watched."""
    clip_failed: bool
    """The final clip could not be filmed."""


@dataclass(frozen=True)
class Progress:
    phase: str
    """draft, writing, training, filming, judging, choosing, comparing, finished, failed, paused or cancelled."""
    iteration: int
    """The round, from 1; 0 before the first."""
    n: int
    fraction: float
    """Of the wait for this round's videos."""
    seconds_left: float | None
    """Until this round's videos are there; None before that can be said."""
    candidates: tuple[CandidateState, ...] = ()
    in_line: bool = False
    """Nobody works on it yet, because work for other experiments comes first."""


def of(experiment: Experiment) -> Progress:
    """The progress of this experiment as its rows say it now."""
    request = experiment.requests.exclude(status=Request.Status.DONE).order_by("step", "slot").first()
    iteration = experiment.iterations.order_by("-number").first()
    number = iteration.number if iteration else 0
    phase = _phase(experiment, request)
    job = _job(request)
    candidates = _candidates(experiment, number, job)
    if phase in ("judging", "choosing", "comparing", "finished"):
        return Progress(phase, number, experiment.n, 1.0, 0.0, candidates)
    step = _step(request, job)
    fraction, left = _estimate(experiment, step, job)
    if phase != step:
        left = None
    in_line = phase == step and job is not None and _stands_in_line(job)
    return Progress(phase, number, experiment.n, fraction, left, candidates, in_line)


def _phase(experiment: Experiment, request: Request | None) -> str:
    if experiment.status in (Experiment.Status.DRAFT, Experiment.Status.FAILED, Experiment.Status.CANCELLED):
        return str(experiment.status)
    if experiment.status == Experiment.Status.FINISHED:
        return "finished"
    if experiment.paused:
        return "paused"
    person = experiment.judge == LoopSettings.JudgeKind.HUMAN
    if request and person and request.kind in ("Judge", "Choose", "Compare"):
        return {"Judge": "judging", "Choose": "choosing", "Compare": "comparing"}[request.kind]
    return _step(request, _job(request))


def _step(request: Request | None, job: Job | None) -> str:
    """What is being done for the next videos. Asking, and the moment between two steps, belong to writing."""
    if request is None or request.kind not in TRIED:
        return "writing"
    return "filming" if job and job.kind == Job.Kind.FILM else "training"


def _job(request: Request | None) -> Job | None:
    """The job that the request waits for: the final clips once they are ordered."""
    if request is None:
        return None
    jobs = [job for job in request.jobs.all() if job.kind != Job.Kind.FILM or job.percent == 100]
    return max(jobs, key=lambda job: job.pk, default=None)


def _estimate(experiment: Experiment, step: str, job: Job | None) -> tuple[float, float | None]:
    """Fraction of the round's wait that is over, and seconds left."""
    expected = {name: _expected(experiment, name) for name in SHARES}
    known = {name: seconds for name, seconds in expected.items() if seconds is not None}
    weights = known if len(known) == len(SHARES) else SHARES
    steps = list(SHARES)
    done = min(1.0, float((job.progress if job else {}).get("fraction") or 0))
    before, here = steps[: steps.index(step)], weights[step]
    fraction = (sum(weights[name] for name in before) + done * here) / (sum(weights.values()) or 1)
    later = [expected[name] for name in steps[steps.index(step) + 1 :]]
    own = _own_left(step, job, expected[step], done)
    if own is None or any(seconds is None for seconds in later):
        return fraction, None
    return fraction, own + sum(seconds for seconds in later if seconds is not None)


def _own_left(step: str, job: Job | None, expected: float | None, done: float) -> float | None:
    """Seconds left of the current step: as its worker measures it, else from earlier jobs; None behind others."""
    if job and _stands_in_line(job):
        return None
    said = job.progress.get("seconds_left") if job and job.status == Job.Status.RUNNING else None
    if said is not None:
        return float(said)
    return None if expected is None else expected * (1 - done)


def _stands_in_line(job: Job) -> bool:
    if job.status != Job.Status.QUEUED:
        return False
    ahead = Job.objects.filter(kind=job.kind, pk__lt=job.pk, status__in=(Job.Status.QUEUED, Job.Status.RUNNING))
    return ahead.exclude(experiment__paused=True).exists()


def _expected(experiment: Experiment, step: str) -> float | None:
    """What this step took on average in earlier rounds like this one."""
    like = Job.objects.filter(
        status=Job.Status.DONE, experiment__task=experiment.task, experiment__k=experiment.k, attempt=1
    )
    if step == "writing":
        return _mean_seconds(like.filter(kind=Job.Kind.WRITE, experiment__model=experiment.model_id))
    if step == "training":
        same = like.filter(experiment__preset=experiment.preset, experiment__overrides=experiment.overrides)
        return _mean_seconds(same.filter(kind=Job.Kind.TRAIN))
    measured = _mean_seconds(like.filter(kind=Job.Kind.FILM, percent=100, experiment__judge=experiment.judge))
    return measured if measured is not None else UNMEASURED_CLIP_SECONDS * experiment.k / (os.cpu_count() or 1)


UNMEASURED_CLIP_SECONDS = 2.0
"""A 10-second clip took 1.4 s on one core of the machine that Prefine was developed on."""


def _mean_seconds(jobs: QuerySet[Job]) -> float | None:
    newest = jobs.order_by("-id").values("pk")[:REMEMBERED_JOBS]
    took = ExpressionWrapper(F("finished_at") - F("started_at"), output_field=DurationField())
    mean = Job.objects.filter(pk__in=list(newest.values_list("pk", flat=True))).aggregate(mean=Avg(took))["mean"]
    return mean.total_seconds() if mean is not None else None


def _candidates(experiment: Experiment, iteration: int, job: Job | None) -> tuple[CandidateState, ...]:
    """The candidates of this round; those that are not written yet are missing."""
    rows = Candidate.objects.filter(iteration__experiment=experiment, iteration__number=iteration)
    said = {c["index"]: c for c in (job.progress if job and job.kind == Job.Kind.TRAIN else {}).get("candidates", ())}
    return tuple(_candidate(row, said.get(row.index - 1, {})) for row in rows.prefetch_related("clips"))


def _candidate(row: Candidate, said: dict[str, object]) -> CandidateState:
    clips = list(row.clips.all())
    ready = [clip for clip in clips if clip.status == Clip.Status.READY]
    failed = said.get("status") == "failed"
    over = row.status in (Candidate.Status.TRAINED, Candidate.Status.FAILED)
    return CandidateState(
        index=row.index,
        status="failed" if failed else row.status,
        fraction=1.0 if over else float(str(said.get("fraction", 0.0))),
        reason=row.reason or str(said.get("reason", "")),
        clip=max(ready, key=lambda clip: clip.percent, default=None),
        clip_failed=any(clip.percent == 100 and clip.status == Clip.Status.FAILED for clip in clips),
    )
