"""Do what a job says. Runs in a worker, or in `manage.py run_experiment`; never in the web process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webapp.experiments import leases, loop
from webapp.experiments.execute import ask, film, train, write
from webapp.experiments.execute.run import run as test
from webapp.experiments.models import Job


def advance(lease: leases.Lease) -> None:
    with lease.settle() as experiment:
        loop.advance(experiment)


def try_out(lease: leases.Lease) -> None:
    """Train under rewards; test answers."""
    request = lease.job.request
    (test if request and request.kind == "Run" else train.train)(lease)


EXECUTORS: dict[str, Callable[[leases.Lease], None]] = {
    Job.Kind.ADVANCE: advance,
    Job.Kind.WRITE: write.write,
    Job.Kind.ASK: ask.ask,
    Job.Kind.TRAIN: try_out,
    Job.Kind.FILM: film.film,
}


def run(job_id: int, report: Callable[[dict[str, Any]], None] | None = None) -> bool:
    """Claim the job and do it. False when there was nothing to claim."""
    lease = leases.claim(job_id)
    if lease is None:
        return False
    lease.report = report
    with lease:
        EXECUTORS[lease.job.kind](lease)
    return True
