"""The winner among the rounds' bests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet

from llm.records import Choose, Outcome
from webapp.experiments import events
from webapp.experiments.kind import Judgement, Kind, Payload, Said, check_shown, leave, pool_picks
from webapp.experiments.models import Experiment, Job, Request


def record(experiment: Experiment, request: Request, result: str) -> None:
    events.emit(experiment, "picked", f"Winner of winners: {result}")
    events.emit(experiment, "locked", public=True)


def requests(experiment: Experiment) -> QuerySet[Request]:
    return experiment.requests.filter(kind=KIND.name)


def asked(payload: Payload, outcomes: Sequence[Outcome]) -> Choose:
    return Choose(tuple(outcomes))


def result(payload: Payload, said: Said) -> str:
    return said.pick.best


def check(payload: Payload, result: Any) -> None:
    check_shown(payload, [result])


def pool(payload: Payload, shown: Sequence[str], said: Sequence[Said]) -> tuple[dict[str, Any], str]:
    pooled, pick = pool_picks(shown, said)
    return pooled, pick.best


def pairs(payload: Payload, result: Any) -> int:
    return max(0, len(payload["candidates"]) - 1)


JUDGEMENT = Judgement(
    waits="choosing",
    waiting="waiting for a person to pick the winner",
    wanted="Pick the winner",
    asked=asked,
    result=result,
    check=check,
    pool=pool,
    pairs=pairs,
    final=True,
)
KIND = Kind(
    name="Choose",
    job=Job.Kind.ASK,
    executor="judge",
    record=record,
    restore=leave,
    phase="picking",
    verb="picked",
    judgement=JUDGEMENT,
)
