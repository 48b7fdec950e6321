"""Queue jobs and call workers. The rows are the truth; a message only makes a worker look at them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from django.db import transaction
from django.db.models import F, Max
from django.db.models.functions import Now

from trainer.records import FINAL
from webapp.base.broker import is_unheard, send_message
from webapp.experiments.job_kinds import (
    BACKGROUND_KINDS,
    CLIP_KINDS,
    JOB_KINDS,
    QUEUES,
    JobKind,
    list_kinds,
    list_urgent_kinds,
)
from webapp.experiments.models import Candidate, Clip, Experiment, Job, Request
from webapp.experiments.protocol import PROTOCOL, name_queue

FIRST_RING_SECONDS = 5
LAST_RING_SECONDS = 160
RINGS_PER_TICK = 4


def add(experiment: Experiment, kind: str, request: Request | None = None, percent: int = 0) -> Job:
    """Queue a job unless this request, kind and percentage has one. The caller holds the experiment's lock."""
    same = Job.objects.filter(experiment=experiment, kind=kind, request=request, percent=percent)
    if JOB_KINDS[kind].repeated:
        same = same.filter(status=Job.Status.QUEUED)
    job = same.first()
    if job is None:
        before = experiment.jobs.aggregate(Max("protocol"))["protocol__max"] or 0
        job = Job.objects.create(
            experiment=experiment, kind=kind, request=request, percent=percent, protocol=max(PROTOCOL, before)
        )
        ring(job)
    return job


def order_clips(experiment: Experiment, request: Request, candidates: Iterable[Candidate], percent: int) -> None:
    """Create pending clips of candidates of this Train request, and the job that films them, unless they exist.

    The caller holds the experiment's lock.
    """
    new = [Clip.objects.get_or_create(candidate=candidate, percent=percent)[1] for candidate in candidates]
    job = add(experiment, Job.Kind.FILM, request, percent)
    if any(new) and job.status not in (Job.Status.QUEUED, Job.Status.RUNNING):
        requeue(job)


def requeue(job: Job) -> None:
    """Queue an ended job again, with strikes and errors reset."""
    Job.objects.filter(pk=job.pk).update(
        status=Job.Status.QUEUED,
        owner="",
        strikes=0,
        reached=0,
        cancel=False,
        error="",
        rings=0,
        held_up_at=None,
        finished_at=None,
    )
    ring(job)


def drop(request: Request) -> None:
    """Cancel all unfinished jobs of a request; a running worker loses its lease."""
    unfinished = (Job.Status.QUEUED, Job.Status.RUNNING, Job.Status.FAILED)
    Job.objects.filter(request=request, status__in=unfinished).update(status=Job.Status.CANCELLED, finished_at=Now())


def revive(request: Request) -> None:
    """Queue a request's cancelled jobs again, except those for early clips."""
    dropped = Job.objects.filter(request=request, status=Job.Status.CANCELLED)
    for job in dropped.exclude(kind__in=CLIP_KINDS, percent__lt=FINAL):
        requeue(job)


def cancel(experiment: Experiment, request: Request | None = None, kind: str = "", below_percent: int = 0) -> None:
    """Cancel the matching jobs that are queued, and ask the running ones to stop."""
    matching = Job.objects.filter(experiment=experiment)
    if request:
        matching = matching.filter(request=request)
    if kind:
        matching = matching.filter(kind=kind)
    if below_percent:
        matching = matching.filter(percent__lt=below_percent)
    matching.filter(status=Job.Status.QUEUED).update(status=Job.Status.CANCELLED, finished_at=Now())
    matching.filter(status=Job.Status.RUNNING).update(cancel=True)


def gives_way(kind: JobKind) -> bool:
    """Whether a job in the background may not begin now: others wait in its queue, or another one of its kind runs. So
    it holds one worker at most.
    """
    if not kind.background:
        return False
    waiting = Job.objects.filter(status=Job.Status.QUEUED, kind__in=list_urgent_kinds(kind.queue), held_up_at=None)
    running = Job.objects.filter(status=Job.Status.RUNNING, kind=kind.name)
    return running.exists() or waiting.filter(experiment__paused=False, protocol__lte=PROTOCOL).exists()


def ring_next(kind: JobKind) -> None:
    """Call a worker for the first that waits of a kind of which one runs at a time."""
    waiting = Job.objects.filter(status=Job.Status.QUEUED, kind=kind.name, experiment__paused=False)
    if following := waiting.order_by("pk").first():
        ring(following)


def ring(job: Job) -> None:
    """Call a worker after the commit."""
    Job.objects.filter(pk=job.pk).update(rung_at=Now(), rings=F("rings") + 1)
    transaction.on_commit(partial(send, job.pk, name_queue(job.queue, job.protocol)))


def send(job_id: int, queue: str) -> None:
    send_message("prefine.run_job", (job_id,), queue)


def ring_again() -> int:
    """Call workers again for the oldest queued jobs of each queue, with growing pauses: for jobs in the background
    beside the others. Returns the number of calls.
    """
    rung = 0
    for queue in QUEUES:
        queued = Job.objects.filter(status=Job.Status.QUEUED, kind__in=list_kinds(queue), experiment__paused=False)
        urgent, others = queued.exclude(kind__in=BACKGROUND_KINDS), queued.filter(kind__in=BACKGROUND_KINDS)
        for job in (*urgent.order_by("id")[:RINGS_PER_TICK], *others.order_by("id")[:1]):
            pause = min(FIRST_RING_SECONDS * 2 ** max(0, job.rings - 1), LAST_RING_SECONDS)
            if Job.objects.filter(is_unheard(pause), pk=job.pk, status=Job.Status.QUEUED, rings=job.rings).exists():
                ring(job)
                rung += 1
    return rung


def ring_all(experiment: Experiment) -> None:
    """Call workers for all queued jobs of an experiment that was paused."""
    for job in Job.objects.filter(experiment=experiment, status=Job.Status.QUEUED):
        ring(job)
