"""Best and worst of a round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.db.models.functions import Now

from llm.records import Judge, Outcome, result_to_json
from webapp.experiments import events
from webapp.experiments.candidates import row_of
from webapp.experiments.kind import Judgement, Kind, Payload, Said, check_shown, pool_picks
from webapp.experiments.kinds.train import film
from webapp.experiments.models import Candidate, Experiment, Job, Request


def record(experiment: Experiment, request: Request, result: dict[str, Any]) -> None:
    best, worst = note(experiment, request, result, Now())
    text = f"Round {request.payload['iteration']}: best {result['best']}, worst {result['worst'] or 'none'}"
    events.emit(experiment, "picked", text)
    events.emit(experiment, "locked", public=True)
    film(experiment, [best, worst])


def restore(experiment: Experiment, request: Request) -> None:
    note(experiment, request, request.result or {}, request.finished_at)


def note(
    experiment: Experiment, request: Request, result: dict[str, Any], ended: Any
) -> tuple[Candidate | None, Candidate | None]:
    """Write a round's best and worst, with what was said of them; they are given back."""
    best, worst = row_of(experiment, result["best"]), row_of(experiment, result["worst"])
    tags = list(dict.fromkeys(result.get("tags", ())))  # of a panel, as often as they were given
    experiment.iterations.filter(number=request.payload["iteration"]).update(
        best=best, worst=worst, reason=result.get("reason", ""), tags=tags, finished_at=ended
    )
    return best, worst


def asked(payload: Payload, outcomes: Sequence[Outcome]) -> Judge:
    return Judge(payload["iteration"], tuple(outcomes), payload.get("worst", True))


def result(payload: Payload, said: Said) -> Any:
    return result_to_json(KIND.name, said.pick)


def check(payload: Payload, result: Any) -> None:
    check_shown(payload, [result["best"], result["worst"]])


def pool(payload: Payload, shown: Sequence[str], said: Sequence[Said]) -> tuple[dict[str, Any], Any]:
    pooled, pick = pool_picks(shown, said)
    unseen = tuple(key for key in payload["candidates"] if key not in shown)
    return pooled, result(payload, Said(replace(pick, unseen=unseen)))


def pairs(payload: Payload, result: Any) -> int:
    """Best of m, then worst of the rest, are 2m - 3; the best alone is m - 1."""
    shown = len(payload["candidates"])
    return max(0, 2 * shown - 3 if result["worst"] else shown - 1)


JUDGEMENT = Judgement(
    waits="judging",
    waiting="waiting for a person to pick best and worst",
    wanted="Round {}: pick best and worst",
    asked=asked,
    result=result,
    check=check,
    pool=pool,
    pairs=pairs,
    worst=True,
)
KIND = Kind(
    name="Judge",
    job=Job.Kind.ASK,
    executor="judge",
    record=record,
    restore=restore,
    phase="picking",
    verb="picked",
    judgement=JUDGEMENT,
)
