"""The rows that decide how far experiments are (webapp.experiments.progress), read for many experiments at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Min
from django.db.models.functions import Now
from django.utils import timezone

from llm.records import TRIED
from webapp.experiments.models import Experiment, Iteration, Job, Request


@dataclass(frozen=True)
class State:
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
    training: Job | None
    """The training of the films that the request waits for."""
    in_line: bool
    now: datetime
    """By the database's clock, as this process's may be wrong."""


def read_states(experiments: Sequence[Experiment]) -> list[State]:
    undone = Request.objects.filter(experiment__in=experiments).exclude(
        status__in=(Request.Status.DONE, Request.Status.ASIDE)
    )
    requests: dict[int, Request] = {}
    counts: Counter[int] = Counter()
    now = timezone.now()  # nobody is told a time where no request is open
    for request in undone.order_by("step", "slot").annotate(read_at=Now()).prefetch_related("jobs"):
        now = request.read_at
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
            State(
                experiment=row,
                iteration=number,
                trained=trained.get(row.pk) == number,
                judged=best is not None,
                request=requests.get(row.pk),
                undone=counts[row.pk],
                job=job,
                training=_find_training(requests.get(row.pk)),
                in_line=job is not None and job.pk in late,
                now=now,
            )
        )
    return states


def _find_job(request: Request) -> Job | None:
    """The request's newest job, except those for early clips, for pairs that are filmed, and in the background."""
    jobs = [job for job in request.jobs.all() if not (job.films_early or job.info.background)]
    jobs = [job for job in jobs if not job.info.of_session or job.status != Job.Status.DONE]
    return max(jobs, key=lambda job: job.pk, default=None)


def _find_training(request: Request | None) -> Job | None:
    done = [job for job in request.jobs.all() if job.info.trains] if request else []
    return done[0] if done and done[0].status == Job.Status.DONE else None


def _find_first_jobs() -> dict[str, int]:
    """By kind, the first job that is queued or running, and does not end at its next heartbeat."""
    working = Job.objects.filter(status__in=(Job.Status.QUEUED, Job.Status.RUNNING), cancel=False)
    working = working.exclude(experiment__paused=True)
    return dict(working.order_by().values_list("kind").annotate(first=Min("pk")))
