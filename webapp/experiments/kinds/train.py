"""Policies are trained under rewards, and filmed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import QuerySet

from trainer.records import FINAL
from webapp.experiments import events, jobs
from webapp.experiments.candidates import set_tried_statuses
from webapp.experiments.kind import Kind
from webapp.experiments.kinds import perform
from webapp.experiments.models import Candidate, Experiment, Job, Request


def record_result(experiment: Experiment, request: Request, result: list[dict[str, Any]]) -> None:
    trained = sum(outcome["ok"] for outcome in result)
    text = f"Round {request.payload['iteration']}: {trained} of {len(result)} policies trained"
    events.emit(experiment, "trained", text, public=True)


def find_requests(experiment: Experiment) -> QuerySet[Request]:
    """The experiment's requests whose files lie in a folder of their own: trainings, and recordings of policies."""
    return experiment.requests.filter(kind__in=(KIND.name, perform.KIND.name))


def find_training(experiment: Experiment, key: str) -> tuple[Request, int] | None:
    """The request that trained or recorded this candidate id, with its position there; None if there is none."""
    for request in sorted(find_requests(experiment), key=lambda row: row.status == Request.Status.ASIDE):
        ids = [row["id"] for row in request.payload["candidates"]]
        if key in ids:
            return request, ids.index(key)
    return None


def count_planned_pairs(payload: Mapping[str, Any]) -> int:
    """How many pairs of segments a request of any kind has answered at least, for its policies to learn from."""
    return int(payload["pairs"]["queries"]) if payload.get("pairs") else 0


def list_seeds(request: Request) -> list[int]:
    """The seed with which each candidate of a Train request trains. Those of a round share initial weights and noise,
    unless the request gives each its own.
    """
    first = 1000 * request.experiment.seed + int(request.payload["iteration"])
    own = request.payload.get("own_seeds", False)
    return [first + place if own else first for place in range(len(request.payload["candidates"]))]


def order_clips(experiment: Experiment, chosen: Sequence[Candidate | None]) -> None:
    """Order the final clips of these candidates, if the experiment does not film all of a round anyway."""
    for request in [] if experiment.watched else find_requests(experiment).exclude(status=Request.Status.ASIDE):
        keys = {row["id"] for row in request.payload["candidates"]}
        candidates = [row for row in chosen if row and row.key in keys and row.status == Candidate.Status.TRAINED]
        if candidates:
            jobs.order_clips(experiment, request, candidates, FINAL)


KIND = Kind(
    name="Train",
    job=Job.Kind.TRAIN,
    executor="train",
    record_result=record_result,
    restore_result=set_tried_statuses,
    phase="training",
    verb="trained",
    step="training",
    asks_model=False,
)
