"""The page of the workers of all machines. Staff only."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from webapp import audit
from webapp.archive.work import KINDS
from webapp.base.http import HtmxHttpRequest
from webapp.experiments import provenance, queues, workers
from webapp.experiments.kinds import name_work
from webapp.experiments.models import Job, Worker
from webapp.experiments.protocol import PROTOCOL

COMMIT = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{32}\b")


def shorten_version(version: str) -> str:
    return COMMIT.sub(r"\1", version)


@dataclass(frozen=True)
class Task:
    """What a worker does at present."""

    text: str
    url: str
    fraction: float | None


@dataclass(frozen=True)
class Row:
    worker: Worker
    alive: bool
    task: Task | None
    other_version: bool

    @property
    def host(self) -> str:
        return self.worker.owner.partition("/")[0]

    @property
    def version(self) -> str:
        return shorten_version(self.worker.version)

    @property
    def too_old(self) -> bool:
        """Whether it refuses what this site queues."""
        return self.worker.protocol < PROTOCOL

    @property
    def state(self) -> tuple[str, str]:
        """Words, and the class of their pill."""
        if not self.alive:
            return ("stopped", "") if self.worker.stopped_at else ("silent", "failed")
        if self.worker.draining:
            return ("finishes, then stops", "waiting") if self.task else ("takes no work", "waiting")
        if self.task:
            return "working", "running"
        return ("cannot take new work", "failed") if self.too_old else ("idle", "done")


def find_tasks() -> dict[str, Task]:
    """What is under way, by machine and process."""
    found = dict[str, Task]()
    for job in Job.objects.filter(status=Job.Status.RUNNING).select_related("experiment", "request"):
        place = reverse("bench:experiment", args=[job.experiment.public_id])
        text = f"{name_work(job)}, {job.experiment.name or job.experiment}"
        found[job.owner.rpartition(":")[0]] = Task(text, place, job.progress.get("fraction"))
    for kind, model in KINDS.items():
        for task in model._default_manager.filter(status=model.Status.RUNNING):
            found[task.owner.rpartition(":")[0]] = Task(kind, reverse("archive:index"), task.fraction)
    return found


def list_rows() -> list[Row]:
    tasks, version = find_tasks(), provenance.get_running_version()
    rows = []
    for worker in Worker.objects.all():
        alive = workers.is_alive(worker)
        task = tasks.get(worker.owner.rpartition(":")[0]) if alive else None
        rows.append(Row(worker, alive, task, worker.version != version))
    return sorted(rows, key=lambda row: not row.alive)


@never_cache
@require_safe
def page(request: HtmxHttpRequest) -> HttpResponse:
    rows, waiting = list_rows(), queues.read_queues()
    served = {row.worker.kind for row in rows if row.alive and not row.worker.draining and not row.too_old}
    context = {
        "rows": rows,
        "queues": waiting,
        "unserved": [queue for queue in waiting if queue.queued and queue.name not in served],
        "version": shorten_version(provenance.get_running_version()),
    }
    return render(request, "bench/workers/index.html", context)


@require_POST
def drain(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    """Have a worker finish and stop, or let it take work again."""
    worker = get_object_or_404(Worker, pk=pk)
    draining = request.POST.get("drain") == "yes"
    workers.drain(worker, draining)
    audit.record(request.user, "told a worker to stop" if draining else "let a worker take work again", worker)
    done = "finishes what it does, and then stops" if draining else "takes work again"
    messages.success(request, f"{worker.name} {done}.")
    return redirect("bench:workers")
