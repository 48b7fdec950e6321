"""Save the result or failure of a request, with the rows that pages read."""

from __future__ import annotations

from typing import Any

from django.db.models.functions import Now

from webapp.experiments import events, jobs
from webapp.experiments.kinds import KINDS
from webapp.experiments.models import Experiment, Job, Request


def complete(request: Request, result: Any, advance: bool = True) -> bool:
    """Answer an open request, exactly once. False if it is not open. The caller holds the experiment's lock."""
    open_row = Request.objects.filter(pk=request.pk, status=Request.Status.OPEN)
    if not open_row.update(status=Request.Status.DONE, result=result, error="", finished_at=Now()):
        return False
    experiment = request.experiment
    KINDS[request.kind].record_result(experiment, request, result)
    if advance:
        jobs.add(experiment, Job.Kind.ADVANCE)
    return True


def fail(experiment: Experiment, error: str, request: Request | None = None, *, flow_changed: bool = False) -> None:
    """Stop the experiment with an error; `loop.retry` continues it."""
    if request:
        Request.objects.filter(pk=request.pk, status=Request.Status.OPEN).update(
            status=Request.Status.FAILED, error=error, finished_at=Now()
        )
    live = Experiment.objects.filter(
        pk=experiment.pk, status__in=(Experiment.Status.RUNNING, Experiment.Status.WAITING)
    )
    if live.update(status=Experiment.Status.FAILED, error=error, flow_changed=flow_changed):
        events.emit(experiment, "failed", error)
        events.emit(experiment, "stopped", public=True)


def restore(experiment: Experiment, request: Request) -> None:
    """Restore the rows that pages read, after a set-aside answer was taken over; emits no event."""
    experiment.iterations.filter(number=request.payload.get("iteration")).update(aside=False)
    KINDS[request.kind].restore_result(experiment, request)
