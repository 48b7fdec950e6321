"""A vision model answers in words about pictures of a rollout."""

from __future__ import annotations

from webapp.experiments import events
from webapp.experiments.kind import Kind, restore_nothing
from webapp.experiments.models import Experiment, Job, Request


def record_result(experiment: Experiment, request: Request, result: str) -> None:
    events.emit(experiment, "answered", result)


KIND = Kind(
    name="Look",
    job=Job.Kind.ASK,
    executor="look",
    record_result=record_result,
    restore_result=restore_nothing,
    meaning_in_words=True,
    find_role=lambda experiment, payload: "vision",
    phase="watching",
    verb="answered",
)
