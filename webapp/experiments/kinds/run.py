"""Answers to a problem are put to the test."""

from __future__ import annotations

from typing import Any

from webapp.experiments import events
from webapp.experiments.candidates import mark_tried
from webapp.experiments.kind import Kind
from webapp.experiments.models import Experiment, Job, Request


def record(experiment: Experiment, request: Request, result: list[dict[str, Any]]) -> None:
    text = f"Round {request.payload['iteration']}: {len(result)} answers tested"
    events.emit(experiment, "trained", text, public=True)


KIND = Kind(
    name="Run",
    job=Job.Kind.TRAIN,
    executor="run",
    record=record,
    restore=mark_tried,
    phase="testing",
    verb="tested",
    step="training",
)
