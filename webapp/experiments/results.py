"""Take in a result, or a failure: the request's row and everything that pages read, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from django.db.models.functions import Now

from llm.records import TRIED, Outcome
from llm.records import Candidate as MethodCandidate
from simulation import catalog
from trainer.records import FINAL
from webapp.experiments import events, jobs
from webapp.experiments.models import Candidate, Experiment, Iteration, Job, Request


def complete(request: Request, result: Any, advance: bool = True) -> bool:
    """Answer an open request, exactly once; the caller holds the experiment's lock. False when it is not open."""
    open_row = Request.objects.filter(pk=request.pk, status=Request.Status.OPEN)
    if not open_row.update(status=Request.Status.DONE, result=result, error="", finished_at=Now()):
        return False
    experiment = request.experiment
    _RECORD[request.kind](experiment, request, result)
    if advance:
        jobs.add(experiment, Job.Kind.ADVANCE)
    return True


def fail(experiment: Experiment, error: str, request: Request | None = None, *, flow_changed: bool = False) -> None:
    """Stop the experiment with a reason; `loop.retry` goes on from here."""
    if request:
        Request.objects.filter(pk=request.pk, status=Request.Status.OPEN).update(
            status=Request.Status.FAILED, error=error, finished_at=Now()
        )
    live = Experiment.objects.filter(
        pk=experiment.pk, status__in=(Experiment.Status.RUNNING, Experiment.Status.WAITING)
    )
    if live.update(status=Experiment.Status.FAILED, error=error, flow_changed=flow_changed):
        events.emit(experiment, "failed", error)
        events.emit(experiment, "stopped", public=True)


def _written(experiment: Experiment, request: Request, result: list[dict[str, Any]]) -> None:
    iteration, _ = Iteration.objects.get_or_create(experiment=experiment, number=request.payload["iteration"])
    for written in result:
        Candidate.objects.get_or_create(
            iteration=iteration,
            index=int(written["id"].partition("-")[2]),
            defaults={
                "source": written["source"],
                "parent": candidate(experiment, written["parent"]),
                "thought": written.get("thought", ""),
            },
        )
    events.emit(experiment, "written", f"Round {iteration.number}: {len(result)} rewards written", public=True)


def _trained(experiment: Experiment, request: Request, result: list[dict[str, Any]]) -> None:
    trained = sum(outcome["ok"] for outcome in result)
    text = f"Round {request.payload['iteration']}: {trained} of {len(result)} policies trained"
    events.emit(experiment, "trained", text, public=True)


def _tested(experiment: Experiment, request: Request, result: list[dict[str, Any]]) -> None:
    text = f"Round {request.payload['iteration']}: {len(result)} answers tested"
    events.emit(experiment, "trained", text, public=True)


def _judged(experiment: Experiment, request: Request, result: dict[str, Any]) -> None:
    best, worst = _note_pick(experiment, request, result, Now())
    text = f"Round {request.payload['iteration']}: best {result['best']}, worst {result['worst'] or 'none'}"
    events.emit(experiment, "picked", text)
    events.emit(experiment, "locked", public=True)
    film(experiment, [best, worst])


def _note_pick(
    experiment: Experiment, request: Request, result: dict[str, Any], ended: Any
) -> tuple[Candidate | None, Candidate | None]:
    """Write a round's best and worst, with what was said of them; they are given back."""
    best, worst = candidate(experiment, result["best"]), candidate(experiment, result["worst"])
    tags = list(dict.fromkeys(result.get("tags", ())))  # of a panel, as often as they were given
    experiment.iterations.filter(number=request.payload["iteration"]).update(
        best=best, worst=worst, reason=result.get("reason", ""), tags=tags, finished_at=ended
    )
    return best, worst


def _compared(experiment: Experiment, request: Request, result: str) -> None:
    first, second = request.payload["candidates"]
    said = {"first": f"{first} over {second}", "second": f"{second} over {first}"}
    events.emit(experiment, "compared", said.get(result, f"{first} and {second}: {result}"))
    events.emit(experiment, "locked", public=True)


def _answered(experiment: Experiment, request: Request, result: str) -> None:
    if request.payload.get("role") != "describer":
        events.emit(experiment, "answered", result)
        return
    experiment.iterations.filter(number=request.payload["iteration"]).update(difference=result)
    events.emit(experiment, "described", result)


def _chosen(experiment: Experiment, request: Request, result: str) -> None:
    events.emit(experiment, "picked", f"Winner of winners: {result}")
    events.emit(experiment, "locked", public=True)


_RECORD: dict[str, Callable[[Experiment, Request, Any], None]] = {
    "Write": _written,
    "Train": _trained,
    "Run": _tested,
    "Judge": _judged,
    "Ask": _answered,
    "Look": _answered,
    "Compare": _compared,
    "Choose": _chosen,
}


def take_back(experiment: Experiment, request: Request) -> None:
    """What pages read of an answer that was set aside and counts again. Nobody is told anew."""
    asked, result = request.payload, cast(Any, request.result)
    rounds = experiment.iterations.filter(number=asked.get("iteration"))
    rounds.update(aside=False)
    if request.kind == "Write":
        for written in result:
            _mark(experiment, written["id"], Candidate.Status.WRITTEN)
    elif request.kind in TRIED:
        for tried in result:
            status = Candidate.Status.TRAINED if tried["ok"] else Candidate.Status.FAILED
            _mark(experiment, tried["candidate"]["id"], status)
    elif request.kind == "Judge":
        _note_pick(experiment, request, result, request.finished_at)
    elif asked.get("role") == "describer":
        rounds.update(difference=result)


def _mark(experiment: Experiment, key: str, status: str) -> None:
    number, index = key.split("-")
    rows = Candidate.objects.filter(iteration__experiment=experiment, iteration__number=number, index=index)
    rows.update(status=status)


def candidate(experiment: Experiment, key: str | None) -> Candidate | None:
    """The row of a method's candidate id."""
    if key is None:
        return None
    number, index = key.split("-")
    return Candidate.objects.get(iteration__experiment=experiment, iteration__number=number, index=index)


def place_of(experiment: Experiment, key: str) -> tuple[Request, int] | None:
    """The Train request of a method's candidate id, and its position in there; None where there is none."""
    trains = experiment.requests.filter(kind="Train")
    for request in sorted(trains, key=lambda row: row.status == Request.Status.ASIDE):
        ids = [asked["id"] for asked in request.payload["candidates"]]
        if key in ids:
            return request, ids.index(key)
    return None


def film(experiment: Experiment, chosen: Sequence[Candidate | None]) -> None:
    """Order the clips of what was chosen, where nobody had to look at every clip of the round before."""
    trained = experiment.requests.filter(kind="Train").exclude(status=Request.Status.ASIDE)
    trains = [] if experiment.watched else trained
    for request in trains:
        keys = {asked["id"] for asked in request.payload["candidates"]}
        candidates = [row for row in chosen if row and row.key in keys and row.status == Candidate.Status.TRAINED]
        if candidates:
            jobs.film(experiment, request, candidates, FINAL)


def outcome(experiment: Experiment, key: str) -> Outcome:
    """What a candidate is and what training gave, as methods and judges know it.

    Of the reward trace all but the row that is the hidden metric: prompts show the trace.
    """
    row = candidate(experiment, key)
    assert row is not None
    hidden = "" if experiment.is_problem else catalog.task(experiment.task).metric_row
    return Outcome(
        candidate=MethodCandidate(key, row.source, row.parent.key if row.parent else None, row.thought),
        ok=row.status == Candidate.Status.TRAINED,
        reason=row.reason,
        trace={name: values for name, values in row.trace.items() if name != hidden},
        metric_trace=row.metric_trace,
        rts=row.rts,
    )
