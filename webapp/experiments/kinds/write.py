"""Rewards, or answers to a problem, are written."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from llm.records import result_from_json
from webapp.experiments import events
from webapp.experiments.candidates import save_candidates, set_status
from webapp.experiments.kind import Kind
from webapp.experiments.models import Candidate, Experiment, Iteration, Job, Request


def record_result(experiment: Experiment, request: Request, result: list[dict[str, Any]]) -> None:
    iteration, _ = Iteration.objects.get_or_create(experiment=experiment, number=request.payload["iteration"])
    save_candidates(experiment, result_from_json(request.kind, result))
    text = f"Round {iteration.number}: {_count(experiment.medium.candidates, len(result))} written"
    events.emit(experiment, "written", text, public=True)


def _count(plural: str, number: int) -> str:
    return f"{number} {plural.removesuffix('s') if number == 1 else plural}"


def restore_result(experiment: Experiment, request: Request) -> None:
    for key in list_written(request):
        set_status(experiment, key, Candidate.Status.WRITTEN)


def list_written(request: Request) -> list[str]:
    """Ids of the candidates that a request of any kind wrote."""
    return [candidate["id"] for candidate in request.result or ()] if request.kind == KIND.name else []


def find_requests(experiment: Experiment) -> QuerySet[Request]:
    return experiment.requests.filter(kind=KIND.name)


KIND = Kind(
    name="Write",
    job=Job.Kind.WRITE,
    executor="write",
    record_result=record_result,
    restore_result=restore_result,
    phase="writing",
    verb="written",
    find_role=lambda experiment, payload: "writer",
    step="writing",
)
