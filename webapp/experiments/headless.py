"""Run an experiment in this process. No workers or web server are needed; running workers share its jobs."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from django.conf import settings
from django.db import transaction

from llm.replay import write_record
from webapp.base import processes
from webapp.experiments import execute, jobs, leases, loop, upgrades
from webapp.experiments.job_kinds import BACKGROUND_KINDS
from webapp.experiments.models import Candidate, Experiment, Iteration, Job

WAIT_SECONDS = 0.5


def end_on_signals() -> None:
    """End this process on Ctrl-C and SIGTERM: at once, or at the next beat if the exception is lost, as in a callback
    of SQLite.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    processes.stopping.set()
    raise KeyboardInterrupt


def run_to_end(experiment: Experiment, report: Callable[[dict[str, Any]], None]) -> None:
    """Execute the experiment's jobs one by one until it ends; `report` is called with each progress and after each job.

    Jobs in the background are left to workers. Raises KeyboardInterrupt if this process must end.
    """
    while True:
        if processes.stopping.is_set():
            raise KeyboardInterrupt
        experiment.refresh_from_db()
        finished = experiment.status == Experiment.Status.FINISHED
        if experiment.paused or not (finished or experiment.status == Experiment.Status.RUNNING):
            return
        leases.requeue_abandoned()
        waiting = experiment.jobs.filter(status=Job.Status.QUEUED).exclude(kind__in=BACKGROUND_KINDS)
        queued = waiting.order_by("id").values_list("pk", flat=True).first()
        if queued is not None:
            execute.run_job(queued, report)
            if experiment.jobs.filter(pk=queued, status=Job.Status.QUEUED, strikes=0).exclude(error="").exists():
                time.sleep(jobs.FIRST_RING_SECONDS)  # it waits for a disk or the store
        elif finished:  # the last clips, too, are filmed
            return
        elif experiment in loop.find_idle():
            with transaction.atomic():
                jobs.add(loop.lock(experiment.pk), Job.Kind.ADVANCE)
        else:
            time.sleep(WAIT_SECONDS)  # another worker has the job
        report({})


@dataclass(frozen=True)
class RoundRow:
    """A row of the table of rounds."""

    number: int
    trained: str
    best: str
    best_rts: float | None
    mean_rts: float | None


def list_finished_rounds(experiment: Experiment) -> list[RoundRow]:
    """The finished rounds: judged, or without a judge followed by another round or the end."""
    rounds = experiment.iterations.filter(aside=False).select_related("best__iteration")
    found = list(rounds.prefetch_related("candidates"))
    ended = not experiment.live
    newest = max((iteration.number for iteration in found), default=0)
    return [_summarize_round(i) for i in found if i.best_id or ((ended or i.number < newest) and i.candidates.all())]


def _summarize_round(iteration: Iteration) -> RoundRow:
    candidates = [c for c in iteration.candidates.all() if c.status != Candidate.Status.ASIDE]
    trained = [c for c in candidates if c.status == Candidate.Status.TRAINED]
    scores = [c.rts for c in trained if c.rts is not None]
    best = iteration.best or max(trained, key=lambda c: c.rts or 0.0, default=None)
    return RoundRow(
        number=iteration.number,
        trained=f"{len(trained)}/{len(candidates)}",
        best=best.key if best else "-",
        best_rts=max(scores, default=None),
        mean_rts=sum(scores) / len(scores) if scores else None,
    )


def get_record_path(experiment: Experiment) -> Path:
    return Path(settings.DATA_DIR) / "records" / f"{experiment.public_id}.json"


def save_record(experiment: Experiment) -> Path:
    """Save the experiment as a record for `python -m llm.replay`."""
    path = get_record_path(experiment)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_record(path, upgrades.build_record(experiment))
    return path
