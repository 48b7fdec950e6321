"""Which of two is better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llm.judges import panel
from llm.records import ANSWERS, Compare, Outcome
from webapp.experiments import events
from webapp.experiments.kind import Judgement, Payload, PersonChoice, make_judged_kind, to_lists
from webapp.experiments.models import Experiment, Request


def record_result(experiment: Experiment, request: Request, result: str) -> None:
    first, second = request.payload["candidates"]
    texts = {"first": f"{first} over {second}", "second": f"{second} over {first}"}
    events.emit(experiment, "compared", texts.get(result, f"{first} and {second}: {result}"))
    events.emit(experiment, "locked", public=True)


def build_judged(payload: Payload, outcomes: Sequence[Outcome]) -> Compare:
    return Compare(payload["iteration"], *outcomes)


def build_result(payload: Payload, choice: PersonChoice) -> str:
    return choice.undecided or _name_better(payload, choice)


def _name_better(payload: Payload, choice: PersonChoice) -> str:
    return "first" if choice.pick.best == payload["candidates"][0] else "second"


def check_result(payload: Payload, result: Any) -> None:
    if result not in ANSWERS:
        raise ValueError(f"{result!r} is no answer; possible are {', '.join(ANSWERS)}")


def pool_choices(payload: Payload, shown: Sequence[str], choices: Sequence[PersonChoice]) -> tuple[dict[str, Any], str]:
    """Strengths with intervals, and the majority's answer; equal numbers make a draw."""
    answers = [build_result(payload, choice) for choice in choices]
    one, other = payload["candidates"]
    seen = [comparison for answer in answers for comparison in panel.read_comparison(one, other, answer)]
    first, second = answers.count("first"), answers.count("second")
    most = "skip" if not seen else "equal" if first == second else "first" if first > second else "second"
    return {"strength": to_lists(panel.bradley_terry(seen, names=[one, other]))}, most


JUDGEMENT = Judgement(
    phase="comparing",
    phase_text="waiting for a person to compare two",
    log_text="Round {}: compare two",
    build_judged=build_judged,
    build_result=build_result,
    check_result=check_result,
    pool_choices=pool_choices,
    count_pairs=lambda payload, result: 1,
    is_pair=True,
)
KIND = make_judged_kind("Compare", JUDGEMENT, record_result)
