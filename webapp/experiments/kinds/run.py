"""Answers to a problem are tested."""

from __future__ import annotations

from typing import Any

from webapp.experiments import events
from webapp.experiments.candidates import set_tried_statuses
from webapp.experiments.kind import Kind
from webapp.experiments.models import Experiment, Job, Request


def record_result(experiment: Experiment, request: Request, result: list[dict[str, Any]]) -> None:
    text = f"Round {request.payload['iteration']}: {len(result)} answers tested"
    events.emit(experiment, "trained", text, public=True)


KIND = Kind(
    name="Run",
    job=Job.Kind.TRAIN,
    executor="run",
    record_result=record_result,
    restore_result=set_tried_statuses,
    phase="testing",
    verb="tested",
    step="training",
)
