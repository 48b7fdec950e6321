"""Which of two is better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llm.judges import panel
from llm.records import ANSWERS, Compare, Outcome
from webapp.experiments import events
from webapp.experiments.kind import Judgement, Kind, Payload, Said, leave, listed
from webapp.experiments.models import Experiment, Job, Request


def record(experiment: Experiment, request: Request, result: str) -> None:
    first, second = request.payload["candidates"]
    said = {"first": f"{first} over {second}", "second": f"{second} over {first}"}
    events.emit(experiment, "compared", said.get(result, f"{first} and {second}: {result}"))
    events.emit(experiment, "locked", public=True)


def asked(payload: Payload, outcomes: Sequence[Outcome]) -> Compare:
    return Compare(payload["iteration"], *outcomes)


def result(payload: Payload, said: Said) -> str:
    if said.cannot_tell:
        return "skip" if said.broken else "equal"
    return "first" if said.pick.best == payload["candidates"][0] else "second"


def check(payload: Payload, result: Any) -> None:
    if result not in ANSWERS:
        raise ValueError(f"{result!r} is no answer; possible are {', '.join(ANSWERS)}")


def pool(payload: Payload, shown: Sequence[str], said: Sequence[Said]) -> tuple[dict[str, Any], str]:
    """Strengths with intervals, and what the most said; a draw is a draw."""
    answers = [result(payload, one) for one in said]
    one, other = payload["candidates"]
    seen = [comparison for answer in answers for comparison in panel.read_comparison(one, other, answer)]
    first, second = answers.count("first"), answers.count("second")
    most = "skip" if not seen else "equal" if first == second else "first" if first > second else "second"
    return {"strength": listed(panel.bradley_terry(seen, names=[one, other]))}, most


JUDGEMENT = Judgement(
    waits="comparing",
    waiting="waiting for a person to compare two",
    wanted="Round {}: compare two",
    asked=asked,
    result=result,
    check=check,
    pool=pool,
    pairs=lambda payload, result: 1,
    pair=True,
)
KIND = Kind(
    name="Compare",
    job=Job.Kind.ASK,
    executor="judge",
    record=record,
    restore=leave,
    phase="picking",
    verb="picked",
    judgement=JUDGEMENT,
)
