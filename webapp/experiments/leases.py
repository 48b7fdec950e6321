"""Leases, the claims on jobs: claim, renew, settle, lose."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models.functions import Now

from webapp.base import logs
from webapp.base.claims import (
    Claim,
    ClaimLost,
    Interrupted,
    Stopped,
    claim_row,
    find_abandoned,
    requeue_row,
    select_held,
)
from webapp.base.database import try_while_away
from webapp.base.processes import has_ended
from webapp.base.store_interface import StoreError, is_disk_full
from webapp.experiments import (
    courses,
    events,
    held_up,
    jobs,
    loop,
    pair_sessions,
    progress,
    promises,
    provenance,
    request_results,
)
from webapp.experiments.job_kinds import JOB_KINDS
from webapp.experiments.kinds import MODEL_KINDS
from webapp.experiments.models import Clip, Experiment, Job, Request
from webapp.experiments.protocol import PROTOCOL

log = logging.getLogger(__name__)


class Cancelled(Stopped):
    pass


class Paused(Stopped):
    pass


def claim(job_id: int) -> Lease | None:
    """Claim a queued job; None if it is not queued, its experiment is paused, another worker was faster, it gives way
    to others, or only a newer version can carry it out.
    """
    kind, paused = Job.objects.filter(pk=job_id).values_list("kind", "experiment__paused").first() or ("", True)
    if paused or (kind in JOB_KINDS and jobs.gives_way(JOB_KINDS[kind])):
        return None
    owner = claim_row(Job.objects.filter(pk=job_id, protocol__lte=PROTOCOL), progress={})
    if not owner:
        return None
    job = Job.objects.select_related("experiment", "request__experiment").filter(pk=job_id, owner=owner).first()
    return Lease(job) if job else None


class Lease(Claim):
    """The claim on a job. A `with` block that ends without `settle` queues the job again, or counts a strike."""

    def __init__(self, job: Job, report: Callable[[dict[str, Any]], None] | None = None) -> None:
        super().__init__(job)
        self.job = job
        self.report = report
        """Called with each progress, for the command line."""
        self.progress: dict[str, Any] = {}
        self._began = time.monotonic()
        self._course = list[courses.Point]()
        self._settled = False

    def beat(self, progress: dict[str, Any] | None = None) -> None:
        """Renew the lease with this progress, at most twice a second. Raises Stopped when the work must end."""
        self.progress = progress or self.progress
        super().beat()

    def renew(self) -> None:
        if not select_held(self.job).update(heartbeat=Now(), progress=self._describe_progress()):
            raise ClaimLost
        cancelled, paused, now = Job.objects.values_list("cancel", "experiment__paused", Now()).get(pk=self.job.pk)
        if promises.is_due(self.job, now) and (promised := progress.promise_time_left(self.job)):
            self.job.estimates = promised
            select_held(self.job).update(estimates=promised)
        if self.report:
            self.report(self.progress)
        if cancelled:
            raise Cancelled
        if paused and self.job.info.pausable:
            raise Paused

    def _describe_progress(self) -> dict[str, Any]:
        """The worker's last report, with the job's course so far."""
        fraction = self.progress.get("fraction")
        if fraction is not None:
            seconds = time.monotonic() - self._began
            self._course = courses.note_progress(self._course, seconds, fraction)
        return {**self.progress, "course": self._course} if self._course else self.progress

    @contextmanager
    def lock_experiment(self) -> Iterator[Experiment]:
        """A transaction that locks the experiment. Raises ClaimLost if the lease is lost."""
        with transaction.atomic():
            try:
                experiment = loop.lock(self.job.experiment_id)
            except Experiment.DoesNotExist as error:  # deleted meanwhile, with its jobs
                raise ClaimLost from error
            if not select_held(self.job).update(heartbeat=Now()):
                raise ClaimLost
            yield experiment

    @contextmanager
    def settle(self, status: str = Job.Status.DONE, error: str = "") -> Iterator[Experiment]:
        """The transaction that ends the job and saves its result."""
        progress = self._describe_progress()
        if self.job.info.trains:
            progress = {**progress, "made_by": provenance.describe_worker(self.job.request)}
        with self.lock_experiment() as experiment:
            select_held(self.job).update(status=status, error=error, finished_at=Now(), progress=progress)
            yield experiment
        self._settled = True

    @contextmanager
    def confirm(self) -> Iterator[bool]:
        """A transaction that keeps the lease until its end; yields False if the lease is lost."""
        with transaction.atomic():
            yield bool(select_held(self.job).update(heartbeat=Now()))

    def fail(self, error: str) -> None:
        """Stop the job, its request and the experiment with this error, which another attempt would meet again."""
        with self.settle(Job.Status.FAILED, error) as experiment:
            request_results.fail(experiment, error, self.job.request)

    def strike(self, error: str) -> None:
        """End this attempt with an error; another attempt may succeed."""
        count_strike(self.job, error)
        self._settled = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, reason: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Suppress Stopped, a full disk and a store that is away; other exceptions count a strike and are raised."""
        if self._settled or isinstance(reason, ClaimLost):
            return isinstance(reason, Stopped)
        handled = try_while_away(lambda: self._give_back(reason))
        return isinstance(reason, Stopped) if handled is None else handled

    def _give_back(self, reason: BaseException | None) -> bool:
        """End an attempt without a result. Returns whether the reason is dealt with."""
        if isinstance(reason, Cancelled):
            select_held(self.job).update(status=Job.Status.CANCELLED, finished_at=Now())
            return True
        if waits := _describe_wait(reason):
            log.warning("%s waits: %s", self.job, waits)
            _requeue(self.job, error=waits, rung_at=Now(), held_up_at=held_up.note_time())
            return True
        if isinstance(reason, Paused | Interrupted) or (reason is not None and not isinstance(reason, Exception)):
            _requeue(self.job)
            return isinstance(reason, Stopped)
        count_strike(self.job, f"{type(reason).__name__}: {reason}" if reason else "the worker ended without a result")
        return False


def _describe_wait(reason: BaseException | None) -> str:
    """What the job waits for, in words, where no attempt can succeed until then; empty for any other reason."""
    if is_disk_full(reason):
        worker = f"worker {logs.read_context().get('worker') or socket.gethostname()}"
        return f"{Job.NO_SPACE} {'the database' if isinstance(reason, DatabaseError) else worker}: {reason}"
    if isinstance(reason, StoreError) and not reason.permanent:
        return f"{Job.STORE_AWAY} {reason}"
    return ""


@transaction.atomic
def count_strike(job: Job, error: str) -> None:
    """Count a failed attempt: queue the job again, or fail it after too many in a row without progress."""
    try:
        experiment = loop.lock(job.experiment_id)
    except Experiment.DoesNotExist:  # deleted meanwhile, with its jobs
        return
    claimed = select_held(job)
    row = claimed.first()
    if row is None:
        return
    fraction = float(row.progress.get("whole") or row.progress.get("fraction") or 0)
    strikes = 1 if fraction > row.reached else row.strikes + 1
    with logs.note_context(job=str(job.pk)):
        said = error.partition(":")[0]  # the rest may quote a person, and stands on the experiment's page
        log.warning("%s failed, attempt %d, experiment %d: %s", row.kind, row.attempt, row.experiment_id, said)
    if row.cancel:
        claimed.update(status=Job.Status.CANCELLED, finished_at=Now())
    elif strikes >= settings.ATTEMPTS and row.info.background:
        claimed.update(status=Job.Status.FAILED, error=error, strikes=strikes, finished_at=Now())
        pair_sessions.give_up_films(row, error)
    elif strikes >= settings.ATTEMPTS:
        text = (
            f"The step {row.kind!r} failed {strikes} times in a row. The last reason: {error}. Retry goes on from it."
        )
        claimed.update(status=Job.Status.FAILED, error=text, strikes=strikes, finished_at=Now())
        clips_of = row.request if row.info.films_clips else None
        if clips_of and (row.films_early or clips_of.status == Request.Status.DONE):
            _give_up_clips(row, clips_of, error)  # early or refilmed clips: nothing waits for them
        else:
            request_results.fail(experiment, text, row.request)
    else:
        _requeue(job, error=error, strikes=strikes, reached=max(row.reached, fraction))
        events.emit(experiment, "restarted", f"{row.kind} starts again: {error}")
        jobs.ring(row)


def restart_model_jobs(experiment: Experiment) -> None:
    """Restart running jobs that ask a model, because words in their prompts changed: their open answers are not saved.

    Counts no strike. The caller holds the experiment's lock.
    """
    for job in experiment.jobs.filter(request__kind__in=MODEL_KINDS, status=Job.Status.RUNNING):
        if _requeue(job, progress={}):
            jobs.ring(job)


def _requeue(job: Job, **values: Any) -> int:
    """Queue the job again if its lease holds. Of a repeated kind, a second queued one is cancelled instead."""
    waiting = Job.objects.filter(experiment=job.experiment_id, kind=job.kind, status=Job.Status.QUEUED)
    if job.info.repeated and waiting.exists():
        return int(select_held(job).update(status=Job.Status.CANCELLED, finished_at=Now()))
    return requeue_row(job, **{"rings": 0, "held_up_at": None, **values})


def _give_up_clips(job: Job, request: Request, error: str) -> None:
    clips = Clip.objects.filter(
        candidate__iteration__experiment=job.experiment_id,
        candidate__iteration__number=request.payload["iteration"],
        candidate__index__in=[int(c["id"].partition("-")[2]) for c in request.payload["candidates"]],
        percent=job.percent,
    )
    clips.filter(status=Clip.Status.PENDING).update(status=Clip.Status.FAILED, error=error)
    events.emit(job.experiment, "clip failed", f"No more clips at {job.percent}%: {error}", public=True)


def requeue_abandoned() -> int:
    """Count a strike against the jobs of workers that are gone. Returns their number."""
    abandoned = find_abandoned(Job)
    for job in abandoned:
        count_strike(job, "the worker disappeared")
    return len(abandoned)


def requeue_stopped() -> int:
    """After an orderly stop, queue the jobs of this machine's ended workers, without strikes. Returns their number."""
    running = Job.objects.filter(status=Job.Status.RUNNING)
    return sum(_requeue(job) for job in running if has_ended(job.owner))
