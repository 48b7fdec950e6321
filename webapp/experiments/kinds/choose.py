"""The winner among the rounds' bests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet

from llm.records import Choose, Outcome
from webapp.experiments import events
from webapp.experiments.candidates import describe_ties_of, find_candidate
from webapp.experiments.kind import Judgement, Payload, PersonChoice, check_shown, make_judged_kind, pool_picks
from webapp.experiments.models import Experiment, Request


def record_result(experiment: Experiment, request: Request, result: str) -> None:
    tied = describe_ties_of(request, find_candidate(experiment, result))
    events.emit(experiment, "picked", ". ".join(filter(None, (f"Winner of winners: {result}", tied))))
    events.emit(experiment, "locked", public=True)


def find_requests(experiment: Experiment) -> QuerySet[Request]:
    return experiment.requests.filter(kind=KIND.name)


def build_judged(payload: Payload, outcomes: Sequence[Outcome]) -> Choose:
    return Choose(tuple(outcomes))


def build_result(payload: Payload, choice: PersonChoice) -> str:
    return choice.pick.best


def check_result(payload: Payload, result: Any) -> None:
    check_shown(payload, [result])


def pool_choices(payload: Payload, shown: Sequence[str], choices: Sequence[PersonChoice]) -> tuple[dict[str, Any], str]:
    pooled, pick = pool_picks(shown, choices)
    return pooled, pick.best


def count_pairs(payload: Payload, result: Any) -> int:
    return max(0, len(payload["candidates"]) - 1)


JUDGEMENT = Judgement(
    phase="choosing",
    phase_text="waiting for a person to pick the winner",
    log_text="Pick the winner",
    build_judged=build_judged,
    build_result=build_result,
    check_result=check_result,
    pool_choices=pool_choices,
    count_pairs=count_pairs,
    is_final=True,
)
KIND = make_judged_kind("Choose", JUDGEMENT, record_result)
