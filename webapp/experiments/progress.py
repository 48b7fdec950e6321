"""The phase of an experiment, and the time left for a round's videos: None if nothing was measured yet."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db.models import Min, QuerySet

from llm.records import TRIED, canonical
from webapp.experiments.kinds import KINDS
from webapp.experiments.models import Candidate, Clip, Experiment, Iteration, Job, Request

REMEMBERED_JOBS = 20
"""Estimates are averages over this many earlier jobs of the same kind on this installation."""
SHARES = {"writing": 0.05, "training": 0.85, "filming": 0.10}
"""Assumed shares of a round's wait before they were measured."""
STEP_JOBS = {
    "writing": (Job.Kind.WRITE, ("model_id",)),
    "training": (Job.Kind.TRAIN, ("preset", "overrides")),
    "filming": (Job.Kind.FILM, ("judge",)),
    "asking": (Job.Kind.ASK, ("method", "judge", "model_id", "describer_id", "judge_model_id", "vision_id")),
}
"""By step: its kind of job, and the settings beside task and K that measured experiments must share."""
JUDGEMENT_BY_PHASE = {kind.judgement.phase: kind.judgement for kind in KINDS.values() if kind.judgement}
"""By phase, the judgement that people are asked for."""
StepKey = tuple[str, str]


@dataclass(frozen=True)
class CandidateState:
    """The progress of one candidate of the current round, without its score."""

    index: int
    status: str
    """written, training, trained or failed."""
    fraction: float
    reason: str
    clip: Clip | None
    """The latest clip that is ready."""
    clip_failed: bool
    """The final clip could not be filmed."""


@dataclass(frozen=True)
class Progress:
    phase: str
    """draft, writing, training, filming, asking, judging, choosing, comparing, finished, failed, paused, cancelled."""
    iteration: int
    """The round, from 1; 0 before the first."""
    n: int
    fraction: float
    """Share of the wait for this round's videos that is over; 1 while a model is asked about them."""
    seconds_left: float | None
    """Until this round's videos are ready, or a model has answered; None if unknown."""
    candidates: tuple[CandidateState, ...] = ()
    in_line: bool = False
    """Whether its job waits behind other experiments' jobs."""

    @property
    def waiting(self) -> str:
        """What people should do, in words; empty if nobody is waited for."""
        return JUDGEMENT_BY_PHASE[self.phase].phase_text if self.phase in JUDGEMENT_BY_PHASE else ""


@dataclass(frozen=True)
class _State:
    """The rows that decide an experiment's progress."""

    experiment: Experiment
    iteration: int
    trained: bool
    """Whether the round's training and filming are over."""
    judged: bool
    """Whether the round's best is named."""
    request: Request | None
    """The first unfinished request."""
    undone: int
    """Number of unfinished requests: those of one step are open together."""
    job: Job | None
    """The job that the request waits for."""
    in_line: bool


def read_progress(experiment: Experiment) -> Progress:
    """The progress of an experiment."""
    state = _read_states([experiment])[0]
    return replace(_build_progress(state, {}), candidates=_read_candidates(experiment, state.iteration, state.job))


def read_all(experiments: Sequence[Experiment]) -> dict[int, Progress]:
    """The progress of many experiments by primary key, without candidates, in few queries."""
    known: dict[StepKey, float | None] = {}
    return {state.experiment.pk: _build_progress(state, known) for state in _read_states(experiments)}


def _read_states(experiments: Sequence[Experiment]) -> list[_State]:
    undone = Request.objects.filter(experiment__in=experiments).exclude(
        status__in=(Request.Status.DONE, Request.Status.ASIDE)
    )
    requests: dict[int, Request] = {}
    counts: Counter[int] = Counter()
    for request in undone.order_by("step", "slot").prefetch_related("jobs"):
        requests.setdefault(request.experiment_id, request)
        counts[request.experiment_id] += 1
    rounds = Iteration.objects.filter(experiment__in=experiments, aside=False).order_by("number")
    newest = {pk: (number, best) for pk, number, best in rounds.values_list("experiment", "number", "best")}
    tried = Request.objects.filter(experiment__in=experiments, kind__in=TRIED, status=Request.Status.DONE)
    trained = dict(tried.order_by("step").values_list("experiment", "payload__iteration"))
    waits_for = {pk: _find_job(request) for pk, request in requests.items()}
    queued = [job for job in waits_for.values() if job and job.status == Job.Status.QUEUED]
    heads = _find_first_jobs() if queued else {}
    late = {job.pk for job in queued if heads.get(job.kind, job.pk) < job.pk}
    states = []
    for row in experiments:
        number, best = newest.get(row.pk, (0, None))
        job = waits_for.get(row.pk)
        states.append(
            _State(
                experiment=row,
                iteration=number,
                trained=trained.get(row.pk) == number,
                judged=best is not None,
                request=requests.get(row.pk),
                undone=counts[row.pk],
                job=job,
                in_line=job is not None and job.pk in late,
            )
        )
    return states


def _find_job(request: Request) -> Job | None:
    """The request's newest job, except those for early clips."""
    jobs = [job for job in request.jobs.all() if job.kind != Job.Kind.FILM or job.percent == 100]
    return max(jobs, key=lambda job: job.pk, default=None)


def _find_first_jobs() -> dict[str, int]:
    """By kind, the first job that is queued or running."""
    working = Job.objects.filter(status__in=(Job.Status.QUEUED, Job.Status.RUNNING)).exclude(experiment__paused=True)
    return dict(working.order_by().values_list("kind").annotate(first=Min("pk")))


def _build_progress(state: _State, known: dict[StepKey, float | None]) -> Progress:
    phase, n = _find_phase(state), state.experiment.rounds
    if phase == "finished" or phase in JUDGEMENT_BY_PHASE:
        return Progress(phase, state.iteration, n, 1.0, 0.0)
    step = _find_step(state)
    fraction, left = _estimate(state, step, known)
    current = phase == step
    return Progress(phase, state.iteration, n, fraction, left if current else None, in_line=current and state.in_line)


def _find_phase(state: _State) -> str:
    experiment, request = state.experiment, state.request
    if experiment.status in (Experiment.Status.DRAFT, Experiment.Status.FAILED, Experiment.Status.CANCELLED):
        return str(experiment.status)
    if experiment.status == Experiment.Status.FINISHED:
        return "finished"
    if experiment.paused:
        return "paused"
    judgement = KINDS[request.kind].judgement if request else None
    if judgement and _asks_people(experiment):
        return judgement.phase
    return _find_step(state)


def _find_step(state: _State) -> str:
    """The step of a round: writing, training, filming or asking. A model's questions before the training, and the
    moments between two steps there, count as writing.
    """
    step = KINDS[state.request.kind].step if state.request else "asking"
    if step == "training":
        return "filming" if state.job and state.job.kind == Job.Kind.FILM else step
    return step if state.trained and not _awaits_next(state) else "writing"


def _awaits_next(state: _State) -> bool:
    """Whether a person has judged the round, so that a model's questions belong to the next one."""
    return state.judged and _asks_people(state.experiment) and state.iteration < state.experiment.rounds


def _asks_people(experiment: Experiment) -> bool:
    return experiment.judge_info.asks_people


def _estimate(state: _State, step: str, remembered: dict[StepKey, float | None]) -> tuple[float, float | None]:
    """The fraction of the round's wait that is over, and the seconds left."""
    if step == "asking":
        return 1.0, _estimate_answers(state, _measure_step(state.experiment, step, remembered))
    expected = {name: _measure_step(state.experiment, name, remembered) for name in SHARES}
    known = {name: seconds for name, seconds in expected.items() if seconds is not None}
    weights = known if len(known) == len(SHARES) else SHARES
    steps = list(SHARES)
    done, before, weight = _read_fraction(state), steps[: steps.index(step)], weights[step]
    fraction = (sum(weights[name] for name in before) + done * weight) / (sum(weights.values()) or 1)
    later = [expected[name] for name in steps[steps.index(step) + 1 :]]
    own = _estimate_step(state, expected[step])
    if own is None or any(seconds is None for seconds in later):
        return fraction, None
    return fraction, own + sum(seconds for seconds in later if seconds is not None)


def _estimate_answers(state: _State, each: float | None) -> float | None:
    """Seconds until a model has answered all open requests, one after another."""
    own, others = _estimate_step(state, each), state.undone - 1
    if state.request is None or own is None or (others and each is None):
        return None
    return own + others * (each or 0.0)


def _read_fraction(state: _State) -> float:
    """The finished fraction of the current job."""
    return min(1.0, float((state.job.progress if state.job else {}).get("fraction") or 0))


def _estimate_step(state: _State, expected: float | None) -> float | None:
    """Seconds left of the current step, from its worker or else from earlier jobs; None while it waits in line."""
    if state.in_line:
        return None
    job = state.job
    left = job.progress.get("seconds_left") if job and job.status == Job.Status.RUNNING else None
    if left is not None:
        return float(left)
    return None if expected is None else expected * (1 - _read_fraction(state))


def _measure_step(experiment: Experiment, step: str, known: dict[StepKey, float | None]) -> float | None:
    """The mean seconds of this step in earlier, similar rounds; `known` caches them by settings."""
    kind, names = STEP_JOBS[step]
    same = {f"experiment__{name}": getattr(experiment, name) for name in ("task", "k", *names)}
    key = (kind, canonical(same))
    if key not in known:
        final = 100 if kind == Job.Kind.FILM else 0
        known[key] = _measure_seconds(Job.objects.filter(kind=kind, percent=final, **same))
    measured = known[key]
    if measured is None and step == "filming":
        return UNMEASURED_CLIP_SECONDS * experiment.k / (os.cpu_count() or 1)
    return measured


UNMEASURED_CLIP_SECONDS = 2.0
"""A 10-second clip took 1.4 s on one core of the machine that Prefine was developed on."""


def _measure_seconds(like: QuerySet[Job]) -> float | None:
    done = like.filter(status=Job.Status.DONE, attempt=1).order_by("-id")
    newest = done.values_list("started_at", "finished_at")[:REMEMBERED_JOBS]
    seconds = [(ended - began).total_seconds() for began, ended in newest if began and ended]
    return sum(seconds) / len(seconds) if seconds else None


def _read_candidates(experiment: Experiment, iteration: int, job: Job | None) -> tuple[CandidateState, ...]:
    """The written candidates of a round."""
    rows = Candidate.objects.filter(iteration__experiment=experiment, iteration__number=iteration)
    rows = rows.exclude(status=Candidate.Status.ASIDE).select_related("iteration").prefetch_related("clips")
    progress = read_candidate_progress(job) if job and job.kind == Job.Kind.TRAIN else {}
    return tuple(_build_candidate(row, progress.get(row.key, {})) for row in rows)


def read_candidate_progress(job: Job) -> dict[str, dict[str, object]]:
    """The last progress of each candidate of a training, by id."""
    candidates = job.request.payload["candidates"] if job.request else []
    return {candidates[entry["index"]]["id"]: entry for entry in job.progress.get("candidates", ())}


def _build_candidate(row: Candidate, progress: dict[str, object]) -> CandidateState:
    clips = list(row.clips.all())
    ready = [clip for clip in clips if clip.status == Clip.Status.READY]
    failed = progress.get("status") == "failed"
    over = row.status in (Candidate.Status.TRAINED, Candidate.Status.FAILED)
    return CandidateState(
        index=row.index,
        status="failed" if failed else row.status,
        fraction=1.0 if over else float(str(progress.get("fraction", 0.0))),
        reason=row.reason or str(progress.get("reason", "")),
        clip=max(ready, key=lambda clip: clip.percent, default=None),
        clip_failed=any(clip.percent == 100 and clip.status == Clip.Status.FAILED for clip in clips),
    )
