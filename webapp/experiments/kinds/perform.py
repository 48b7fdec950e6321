"""Episodes of a policy that another experiment trained are recorded and filmed."""

from __future__ import annotations

from typing import Any

from webapp.experiments import events
from webapp.experiments.candidates import set_tried_statuses
from webapp.experiments.kind import Kind
from webapp.experiments.models import Experiment, Job, Request


def record_result(experiment: Experiment, request: Request, result: list[dict[str, Any]]) -> None:
    text = f"Policy {request.payload['policy']}: {len(result)} episodes recorded"
    events.emit(experiment, "trained", text, public=True)


KIND = Kind(
    name="Perform",
    job=Job.Kind.PERFORM,
    executor="perform",
    record_result=record_result,
    restore_result=set_tried_statuses,
    phase="recording",
    verb="recorded",
    step="training",
    asks_model=False,
)
