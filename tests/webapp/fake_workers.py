"""Experiments for the tests of the loop, and made-up results in place of workers'."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import transaction

from llm import records
from webapp.base import claims
from webapp.experiments import leases, loop, request_results
from webapp.experiments.candidates import find_candidate
from webapp.experiments.execute.train import read_outcomes
from webapp.experiments.models import Candidate, Experiment, Job, Request

SOURCE = """
def compute_reward(dof_pos: torch.Tensor) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:
    upright = {weight} * torch.exp(-torch.square(dof_pos[:, 1]))
    return upright, {{"upright": upright}}
"""


def create_experiment(**values: Any) -> Experiment:
    defaults: dict[str, Any] = {"name": "test", "task": "Cartpole", "k": 3, "n": 2, "judge": "proxy"}
    return Experiment.objects.create(**{**defaults, **values})


def start_experiment(**values: Any) -> Experiment:
    row = create_experiment(**values)
    loop.start(row)
    return row


def start_to_write() -> Experiment:
    """A running experiment whose first Write is open and queued, put there by a job."""
    row = start_experiment()
    lease = leases.claim(find_job(row, "advance").pk)
    assert lease is not None
    with lease, lease.settle() as locked:
        loop.advance(locked)
    return row


def advance(row: Experiment) -> None:
    """Do what an advance job does."""
    with transaction.atomic():
        loop.advance(loop.lock(row.pk))
    row.refresh_from_db()


def find_job(row: Experiment, kind: str, **values: Any) -> Job:
    return row.jobs.filter(kind=kind, **values).latest("id")


def finish_request(row: Experiment, request: Request, failed: tuple[int, ...] = ()) -> None:
    """Give an open Write, Train or Ask request a result; these positions of a Train request fail."""
    lease = leases.claim(request.jobs.get(kind=request.kind.lower()).pk)
    assert lease is not None
    with lease, lease.settle():
        request_results.complete(request, RESULTS[request.kind](request, failed))


def make_candidates(request: Request, failed: tuple[int, ...]) -> Any:
    asked = request.payload
    number, first = asked["iteration"], asked.get("first", 1)
    ids = [f"{number}-{index}" for index in range(first, first + asked["count"])]
    thought = {"thought": "Upright first."} if asked.get("thought") else {}
    return [
        {"id": i, "source": SOURCE.format(weight=n + number), "parent": asked["parent"], **thought}
        for n, i in enumerate(ids)
    ]


def make_outcomes(request: Request, failed: tuple[int, ...]) -> Any:
    for position, asked in enumerate(request.payload["candidates"]):
        row = find_candidate(request.experiment, asked["id"])
        assert row is not None
        row.status = Candidate.Status.FAILED if position in failed else Candidate.Status.TRAINED
        row.reason = "it produced NaN" if position in failed else ""
        row.rts = None if position in failed else 10.0 * row.iteration.number + position
        row.trace = {"total": {"samples": [0.1, 0.2], "max": 0.2, "mean": 0.15, "min": 0.1}}
        row.save()
    return read_outcomes(request)


def make_text(request: Request, failed: tuple[int, ...]) -> str:
    return "The later one cares more about staying upright."


RESULTS = {"Write": make_candidates, "Train": make_outcomes, "Ask": make_text}


def find_open_requests(row: Experiment) -> list[Request]:
    return list(row.requests.filter(status=Request.Status.OPEN))


def do_work(row: Experiment, failed: tuple[int, ...] = (), until: str = "") -> None:
    """Answer requests as workers would, until a person must answer, a request of kind `until` is open, or all is
    done."""
    while True:
        advance(row)
        waiting = [r for r in find_open_requests(row) if r.kind in RESULTS and r.kind != until]
        if not waiting:
            return
        for request in waiting:
            finish_request(row, request, failed)


def make_pick(best: str, worst: str | None, reason: str = "") -> Any:
    return records.result_to_json("Judge", records.Pick(best, worst, reason))


def fall_silent(model: Any = Job) -> None:
    """As if this process had seen no new heartbeat of running rows for longer than a lease."""
    claims.find_abandoned(model)
    seen = claims._first_seen[model]
    claims._first_seen[model] = {beat: since - settings.LEASE_SECONDS - 1 for beat, since in seen.items()}
