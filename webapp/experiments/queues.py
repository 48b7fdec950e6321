"""The state of the queues over all experiments."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from webapp.experiments.models import Job

TITLES = {"llm": "Writing", "train": "Training", "film": "Filming"}


@dataclass(frozen=True)
class Queue:
    name: str
    running: int
    queued: int
    machines: tuple[str, ...]
    """Machines that hold leases on this queue's jobs."""
    oldest: datetime | None
    """When the oldest queued job was created."""

    @property
    def title(self) -> str:
        return TITLES[self.name]


def read_queues() -> list[Queue]:
    """All queues, in one query. Jobs of paused experiments are left out: they wait for no worker."""
    active = Job.objects.filter(status__in=(Job.Status.QUEUED, Job.Status.RUNNING), experiment__paused=False)
    jobs: dict[str, list[Job]] = defaultdict(list)
    for job in active.only("kind", "status", "owner", "created_at", "experiment_id"):
        jobs[job.queue].append(job)
    return [_build_queue(name, jobs[name]) for name in TITLES]


def _build_queue(name: str, jobs: list[Job]) -> Queue:
    running = [job for job in jobs if job.status == Job.Status.RUNNING]
    queued = [job for job in jobs if job.status == Job.Status.QUEUED]
    return Queue(
        name=name,
        running=len(running),
        queued=len(queued),
        machines=tuple(sorted({job.owner.partition(":")[0].partition("/")[0] for job in running})),
        oldest=min((job.created_at for job in queued), default=None),
    )
