"""A model answers in words."""

from __future__ import annotations

from webapp.experiments import events
from webapp.experiments.kind import Kind
from webapp.experiments.models import Experiment, Job, Request


def record(experiment: Experiment, request: Request, result: str) -> None:
    if request.payload.get("role") != "describer":
        events.emit(experiment, "answered", result)
        return
    note(experiment, request, result)
    events.emit(experiment, "described", result)


def note(experiment: Experiment, request: Request, result: str) -> None:
    """What the describer said of a round."""
    experiment.iterations.filter(number=request.payload["iteration"]).update(difference=result)


def restore(experiment: Experiment, request: Request) -> None:
    if request.payload.get("role") == "describer":
        note(experiment, request, str(request.result))


KIND = Kind(
    name="Ask",
    job=Job.Kind.ASK,
    executor="ask",
    record=record,
    restore=restore,
    in_words=True,
    phase="thinking",
    verb="answered",
)
