"""Best and worst of a round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.db.models.functions import Now

from llm.judges.panel import UNDECIDED
from llm.records import Judge, Outcome, result_to_json
from webapp.experiments import events
from webapp.experiments.candidates import describe_ties_of, find_candidate
from webapp.experiments.kind import Judgement, Payload, PersonChoice, check_shown, make_judged_kind, pool_picks
from webapp.experiments.kinds.train import order_clips
from webapp.experiments.models import Candidate, Experiment, Request


def record_result(experiment: Experiment, request: Request, result: dict[str, Any]) -> None:
    best, worst = save_pick(experiment, request, result, Now())
    text = f"Round {request.payload['iteration']}: best {result['best']}, worst {result['worst'] or 'none'}"
    text += f", drawn, because {UNDECIDED[result['undecided']]}" if result.get("undecided") else ""
    events.emit(experiment, "picked", ". ".join(filter(None, (text, describe_ties_of(request, best, worst)))))
    events.emit(experiment, "locked", public=True)
    order_clips(experiment, [best, worst])


def restore_result(experiment: Experiment, request: Request) -> None:
    save_pick(experiment, request, request.result or {}, request.finished_at)


def save_pick(
    experiment: Experiment, request: Request, result: dict[str, Any], ended: Any
) -> tuple[Candidate | None, Candidate | None]:
    """Save a round's best and worst with reason and tags. Returns both rows."""
    best, worst = find_candidate(experiment, result["best"]), find_candidate(experiment, result["worst"])
    tags = list(dict.fromkeys(result.get("tags", ())))  # a panel may give the same tag several times
    experiment.iterations.filter(number=request.payload["iteration"]).update(
        best=best, worst=worst, reason=result.get("reason", ""), tags=tags, finished_at=ended
    )
    return best, worst


def build_judged(payload: Payload, outcomes: Sequence[Outcome]) -> Judge:
    return Judge(payload["iteration"], tuple(outcomes), payload.get("worst", True))


def build_result(payload: Payload, choice: PersonChoice) -> Any:
    return result_to_json(KIND.name, replace(choice.pick, undecided=choice.undecided))


def check_result(payload: Payload, result: Any) -> None:
    check_shown(payload, [result["best"], result["worst"]])


def pool_choices(payload: Payload, shown: Sequence[str], choices: Sequence[PersonChoice]) -> tuple[dict[str, Any], Any]:
    pooled, pick = pool_picks(shown, choices)
    unseen = tuple(key for key in payload["candidates"] if key not in shown)
    nobody = all(choice.cannot_tell for choice in choices)
    broken = all(choice.broken for choice in choices)
    return pooled, build_result(payload, PersonChoice(replace(pick, unseen=unseen), nobody, broken))


def count_pairs(payload: Payload, result: Any) -> int:
    """2m - 3 for the best of m and the worst of the rest; m - 1 for the best alone."""
    shown = len(payload["candidates"])
    return max(0, 2 * shown - 3 if result["worst"] else shown - 1)


JUDGEMENT = Judgement(
    phase="judging",
    phase_text="waiting for a person to pick best and worst",
    log_text="Round {}: pick best and worst",
    build_judged=build_judged,
    build_result=build_result,
    check_result=check_result,
    pool_choices=pool_choices,
    count_pairs=count_pairs,
    asks_worst=True,
)
KIND = make_judged_kind("Judge", JUDGEMENT, record_result, restore_result)
