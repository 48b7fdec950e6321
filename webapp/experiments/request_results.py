"""Take in a result, or a failure: the request's row and everything that pages read, in one transaction."""

from __future__ import annotations

from typing import Any

from django.db.models.functions import Now

from webapp.experiments import events, jobs
from webapp.experiments.kinds import KINDS
from webapp.experiments.models import Experiment, Job, Request


def complete(request: Request, result: Any, advance: bool = True) -> bool:
    """Answer an open request, exactly once; the caller holds the experiment's lock. False when it is not open."""
    open_row = Request.objects.filter(pk=request.pk, status=Request.Status.OPEN)
    if not open_row.update(status=Request.Status.DONE, result=result, error="", finished_at=Now()):
        return False
    experiment = request.experiment
    KINDS[request.kind].record_result(experiment, request, result)
    if advance:
        jobs.add(experiment, Job.Kind.ADVANCE)
    return True


def fail(experiment: Experiment, error: str, request: Request | None = None, *, flow_changed: bool = False) -> None:
    """Stop the experiment with a reason; `loop.retry` goes on from here."""
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
    """What pages read of an answer that was set aside and counts again. It tells nobody again."""
    experiment.iterations.filter(number=request.payload.get("iteration")).update(aside=False)
    KINDS[request.kind].restore_result(experiment, request)
