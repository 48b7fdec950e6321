"""A vision model rates a film: does the robot do what its task says?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from webapp.experiments import events
from webapp.experiments.kind import Kind, restore_nothing
from webapp.experiments.models import Experiment, Job, Request


def record_result(experiment: Experiment, request: Request, result: dict[str, Any]) -> None:
    film, rating = request.payload["candidate"], result["rating"]
    text = f"Film {film} cannot be seen" if rating is None else f"Film {film}: {rating} of 5. {result['words']}"
    events.emit(experiment, "answered", text)


def find_answered(experiments: Iterable[int]) -> QuerySet[Request]:
    """The answered questions about films of these experiments, by primary key."""
    return Request.objects.filter(experiment__in=experiments, kind=KIND.name, status=Request.Status.DONE)


KIND = Kind(
    name="Rate",
    job=Job.Kind.ASK,
    executor="rate",
    record_result=record_result,
    restore_result=restore_nothing,
    meaning_in_words=True,
    find_role=lambda experiment, payload: "vision",
    phase="watching",
    verb="rated",
)
