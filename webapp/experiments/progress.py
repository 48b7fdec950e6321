"""The phase of an experiment, and the time left for a round's videos: None if nothing was measured yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Q

from webapp.experiments import held_up, pair_sessions, promises
from webapp.experiments.courses import (
    TRUSTED_FRACTION,
    Course,
    count_rest,
    follow_courses,
    follow_known_course,
    follow_own_pace,
)
from webapp.experiments.durations import Known, measure_step, read_courses
from webapp.experiments.job_kinds import COMPUTING_KINDS, JOB_KINDS, list_kinds
from webapp.experiments.kinds import KINDS
from webapp.experiments.models import Candidate, Clip, Experiment, Job
from webapp.experiments.progress_state import State, read_states
from webapp.experiments.promises import GRACE_SECONDS, SHORT_SECONDS, Promise

SHARES = {"writing": 0.05, "training": 0.85, "filming": 0.10}
"""Assumed shares of a round's wait before they were measured."""
JUDGEMENT_BY_PHASE = {kind.judgement.phase: kind.judgement for kind in KINDS.values() if kind.judgement}
"""By phase, the judgement that people are asked for."""
ANSWERING, ANSWERING_TEXT = "answering", "waiting for people to answer pairs"
"""The phase of a training that has stopped to ask about pairs."""
OWN_SECONDS, OWN_FRACTION, OWN_PATIENCE = 10.0, 0.2, 180.0
"""Where no earlier training tells how long one takes, nothing is said before it has run for the first seconds, nor
before it has done this share of its work or run for the last ones: early films slow it down after its first tenth."""
LEAST_SLOWDOWN, MOST_SLOWDOWN = 0.5, 4.0
"""Limits of what is concluded from a training's speed for the films after it."""


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


@dataclass(frozen=True)
class Progress:
    phase: str
    """draft, writing, training, filming, asking, judging, choosing, comparing, answering, finished, failed, paused,
    cancelled.
    """
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
    late: bool = False
    """It takes longer than people were told."""
    late_reason: str = ""
    """held up (by a full disk, or a store that is away), restarted (a step began again), busy (others' work runs beside
    it), or empty if unknown."""

    @property
    def waiting(self) -> str:
        """What people should do, in words; empty if nobody is waited for."""
        if self.phase == ANSWERING:
            return ANSWERING_TEXT
        return JUDGEMENT_BY_PHASE[self.phase].phase_text if self.phase in JUDGEMENT_BY_PHASE else ""


def read_progress(experiment: Experiment, known: Known | None = None) -> Progress:
    """The progress of an experiment; `known` is what was measured already."""
    state = read_states([experiment])[0]
    now = _build_progress(state, {} if known is None else known)
    return replace(now, candidates=_read_candidates(experiment, now.iteration, state.job))


def read_all(experiments: Sequence[Experiment]) -> dict[int, Progress]:
    """The progress of many experiments by primary key, without candidates, in few queries."""
    known: Known = {}
    return {state.experiment.pk: _build_progress(state, known) for state in read_states(experiments)}


def _build_progress(state: State, known: Known) -> Progress:
    phase, n = _find_phase(state), state.experiment.rounds
    if phase in ("finished", ANSWERING) or phase in JUDGEMENT_BY_PHASE:
        return Progress(phase, state.iteration, n, 1.0, 0.0)
    number = state.iteration + _awaits_next(state)
    step = _find_step(state)
    fraction, left = _estimate(state, step, known)
    if phase != step:
        return Progress(phase, number, n, fraction, None)
    if state.job is not None and held_up.is_shown(state.job, state.now):
        return Progress(phase, number, n, fraction, None, late=True, late_reason="held up")
    promise = _find_promise(state)
    if promise is None:
        late = left is not None and _is_overdue(state, step, known)
        kept = state.in_line or (step == "asking" and not late)
        if left is not None and left < SHORT_SECONDS and not kept:
            left = None  # nothing takes it back: "less than a minute" would be said for ever
        reason = _find_late_reason(state) if late else ""
        return Progress(phase, number, n, fraction, left, in_line=state.in_line, late=late, late_reason=reason)
    promised = promise.count_left(state.now)
    late = promise.late or promised < -GRACE_SECONDS
    reason = _find_late_reason(state) if late else ""
    left = None if promise.vague and promised < SHORT_SECONDS else max(0.0, promised)
    return Progress(phase, number, n, fraction, left, late=late, late_reason=reason)


def _is_overdue(state: State, step: str, known: Known) -> bool:
    """Whether a job without a promise has taken longer than such jobs take, or waits although no other is before it."""
    job = state.job
    if job is None or state.in_line:
        return False
    running = job.status == Job.Status.RUNNING
    begun = job.started_at if running and job.started_at else _find_queued_since(job)
    usual = (measure_step(state.experiment, step, known) or 0.0) if running else 0.0
    return (state.now - begun).total_seconds() > usual + GRACE_SECONDS


def _find_queued_since(job: Job) -> datetime:
    """Since when it waits for a worker: a training that stops for answers is queued again with the last of each set."""
    answered = pair_sessions.find_answered_at(job.request) if job.request and job.info.trains else None
    return max(job.created_at, answered or job.created_at)


def _find_promise(state: State) -> Promise | None:
    """What people were told of this round, also in the moments between two of its jobs, and while pairs are filmed."""
    job = state.job
    told = job is not None and (job.info.promised or job.info.step == "filming")
    return promises.find_promise(job) if job and told and not state.in_line else None


def _find_late_reason(state: State) -> str:
    job = state.job
    if job and job.attempt > (pair_sessions.count_slices(job.request) if job.request else 1):
        return "restarted"
    since = state.now - held_up.LASTING  # the moments between two jobs change no words
    working = Q(status=Job.Status.RUNNING, started_at__lt=since) | Q(status=Job.Status.DONE, finished_at__gt=since)
    busy = Job.objects.filter(working, kind__in=COMPUTING_KINDS)
    return "busy" if busy.exclude(experiment=state.experiment).exists() else ""


def promise_time_left(job: Job) -> list[list[float]] | None:
    """The job's promises with a new one; None while the time left is unknown. For the worker that holds the job."""
    state = read_states([job.experiment])[0]
    if state.job is None or state.job.pk != job.pk:  # one of several jobs of its step: another one's promise counts
        return None
    _, left = _estimate(state, _find_step(state), {})
    if left is None:
        return None
    promise = promises.renew_promise(promises.find_promise(state.job), left, state.now)
    return promises.write_promise(state.job, promise)


def _find_phase(state: State) -> str:
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
    if experiment.status == Experiment.Status.WAITING and request and experiment.asks_pairs:
        return ANSWERING
    return _find_step(state)


def _find_step(state: State) -> str:
    """The step of a round: writing, training, filming or asking. A model's questions before the training, and the
    moments between two steps there, count as writing.
    """
    step = KINDS[state.request.kind].step if state.request else "asking"
    if step == "training":
        return state.job.info.step if state.job else step
    if state.trained and not _awaits_next(state):
        return step
    return "writing" if state.experiment.writes else "training"


def _awaits_next(state: State) -> bool:
    """Whether a person has judged the round, so that a model's questions belong to the next one."""
    return state.judged and _asks_people(state.experiment) and state.iteration < state.experiment.rounds


def _asks_people(experiment: Experiment) -> bool:
    return experiment.judge_info.asks_people


def _list_steps(experiment: Experiment) -> dict[str, float]:
    """The steps that the round's judgement waits for, with their usual shares of the wait."""
    filmed = experiment.watched and experiment.medium.filmed
    left_out = {name for name, there in (("writing", experiment.writes), ("filming", filmed)) if not there}
    return {name: share for name, share in SHARES.items() if name not in left_out}


def _estimate(state: State, step: str, known: Known) -> tuple[float, float | None]:
    """The fraction of the round's wait that is over, and the seconds left."""
    if step == "asking":
        return 1.0, _estimate_answers(state, measure_step(state.experiment, step, known))
    shares = _list_steps(state.experiment)
    if step not in shares:  # a film that nothing waits for
        return 1.0, None
    expected = {name: measure_step(state.experiment, name, known) for name in shares}
    measured = {name: seconds for name, seconds in expected.items() if seconds is not None}
    weights = measured if len(measured) == len(shares) else shares
    steps = list(shares)
    done, before, weight = _read_fraction(state.job), steps[: steps.index(step)], weights[step]
    fraction = (sum(weights[name] for name in before) + done * weight) / (sum(weights.values()) or 1)
    later = [expected[name] for name in steps[steps.index(step) + 1 :]]
    usual = expected[step]
    if step == "filming" and usual is not None:
        usual *= _measure_slowdown(state.training, state.now, 0.0, expected["training"])
    own = _estimate_step(state, usual, read_courses(state.experiment, step, known), known)
    if own is None or any(seconds is None for seconds in later):
        return fraction, None
    slowdown = _measure_slowdown(state.job, state.now, own, expected[step]) if step == "training" else 1.0
    return fraction, own + slowdown * sum(seconds for seconds in later if seconds is not None)


def _measure_slowdown(job: Job | None, now: datetime, left: float, expected: float | None) -> float:
    """How much slower this machine is now than in earlier trainings; the films after this one will be, too."""
    if job is None or not job.started_at or not expected:
        return 1.0
    total = ((job.finished_at or now) - job.started_at).total_seconds() + left
    return min(MOST_SLOWDOWN, max(LEAST_SLOWDOWN, total / expected))


def _estimate_answers(state: State, each: float | None) -> float | None:
    """Seconds until a model has answered all open requests, one after another."""
    own, others = _estimate_job(state.job, state.now, each), state.undone - 1
    if state.in_line or state.request is None or own is None or (others and each is None):
        return None
    return own + others * (each or 0.0)


def _read_fraction(job: Job | None) -> float:
    """The finished fraction of a job."""
    return min(1.0, float((job.progress if job else {}).get("fraction") or 0))


def _estimate_step(state: State, expected: float | None, courses: Sequence[Course], known: Known) -> float | None:
    """Seconds left of the current step, with the jobs before it in its queue."""
    own = _estimate_job(state.job, state.now, expected, courses)
    if own is None or state.job is None or not state.in_line:
        return own
    before = _estimate_queue(state.job, state.now, known)
    return None if before is None else before + own


def _estimate_queue(job: Job, now: datetime, known: Known) -> float | None:
    """Seconds until a worker is free for this queued job; None if a job before it was never measured."""
    kinds = [kind for kind in list_kinds(job.queue) if JOB_KINDS[kind].measured]
    ahead = Job.objects.filter(kind__in=kinds, status__in=(Job.Status.QUEUED, Job.Status.RUNNING), pk__lt=job.pk)
    total, workers = 0.0, 0
    for other in ahead.filter(cancel=False).exclude(experiment__paused=True).select_related("experiment"):
        step = other.info.step
        usual = measure_step(other.experiment, step, known)
        seconds = _estimate_job(other, now, usual, read_courses(other.experiment, step, known))
        if seconds is None:
            return None
        total += seconds
        workers += other.status == Job.Status.RUNNING
    return total / max(1, workers)


def _estimate_job(
    job: Job | None, now: datetime, expected: float | None, courses: Sequence[Course] = ()
) -> float | None:
    """Seconds left of a job: by the course of earlier jobs, from its own speed, from how long they took, or both."""
    if job is None or job.status != Job.Status.RUNNING:
        return None if expected is None else expected * (1 - _read_fraction(job))
    took, fraction = (now - (job.started_at or job.created_at)).total_seconds(), _read_fraction(job)
    if expected and courses:
        return follow_courses(took, fraction, expected, courses)
    usual, trusted = None if expected is None else count_rest(took, fraction, expected), TRUSTED_FRACTION
    own = job.progress.get("seconds_left")
    if own is None:
        return usual
    if usual is None:
        if fraction < TRUSTED_FRACTION and (took < OWN_SECONDS or fraction < OWN_FRACTION and took < OWN_PATIENCE):
            return None
        if courses:
            usual, trusted = follow_known_course(took, fraction, courses), 1.0
        else:
            usual = follow_own_pace(took, fraction, job.progress.get("course", ()))
    trust = min(1.0, fraction / trusted)
    return float(own) if usual is None else trust * float(own) + (1 - trust) * usual


def _read_candidates(experiment: Experiment, iteration: int, job: Job | None) -> tuple[CandidateState, ...]:
    """The written candidates of a round."""
    rows = Candidate.objects.filter(iteration__experiment=experiment, iteration__number=iteration)
    rows = rows.exclude(status=Candidate.Status.ASIDE).select_related("iteration").prefetch_related("clips")
    progress = read_candidate_progress(job) if job else {}
    return tuple(_build_candidate(row, progress.get(row.key, {})) for row in rows)


def read_candidate_progress(job: Job) -> dict[str, dict[str, object]]:
    """The last progress of each candidate, by id; only trainings report any."""
    reported = job.progress.get("candidates", ())
    return {job.request.payload["candidates"][entry["index"]]["id"]: entry for entry in reported if job.request}


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
    )
