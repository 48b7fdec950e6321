"""The list of all experiments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Count, Max, Q, QuerySet

from webapp.experiments.models import Candidate, Experiment, Job


def list_experiments() -> QuerySet[Any, Any]:
    """Every experiment with the values of its row in the list, newest first."""
    rows = Experiment.objects.select_related("winner__iteration")
    begun = Count("iterations", distinct=True, filter=Q(iterations__aside=False))
    highest = Max("iterations__candidates__rts", filter=~Q(iterations__candidates__status=Candidate.Status.ASIDE))
    return rows.annotate(round=begun, rts=highest).order_by("-created_at")


def find_running_jobs(experiments: Iterable[Experiment]) -> dict[int, Job]:
    """The running job of each experiment that people wait for, by experiment."""
    running = Job.objects.filter(experiment__in=experiments, status=Job.Status.RUNNING).order_by("id")
    order = {"train": 2, "film": 1}
    found: dict[int, Job] = {}
    for job in running:
        known = found.get(job.experiment_id)
        if known is None or order.get(job.kind, 0) >= order.get(known.kind, 0):
            found[job.experiment_id] = job
    return found
