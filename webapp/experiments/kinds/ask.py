"""A model answers in words."""

from __future__ import annotations

from webapp.experiments import events
from webapp.experiments.kind import Kind
from webapp.experiments.models import Experiment, Job, Request


def record_result(experiment: Experiment, request: Request, result: str) -> None:
    if request.payload.get("role") != "describer":
        events.emit(experiment, "answered", result)
        return
    save_difference(experiment, request, result)
    events.emit(experiment, "described", result)


def save_difference(experiment: Experiment, request: Request, result: str) -> None:
    """Save the describer's words on a round."""
    experiment.iterations.filter(number=request.payload["iteration"]).update(difference=result)


def restore_result(experiment: Experiment, request: Request) -> None:
    if request.payload.get("role") == "describer":
        save_difference(experiment, request, str(request.result))


KIND = Kind(
    name="Ask",
    job=Job.Kind.ASK,
    executor="ask",
    record_result=record_result,
    restore_result=restore_result,
    meaning_in_words=True,
    find_role=lambda experiment, payload: str(payload["role"]),
    phase="thinking",
    verb="answered",
)
