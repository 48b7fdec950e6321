"""People judge in the browser."""

from __future__ import annotations

from collections.abc import Mapping

from llm.method import Method
from webapp.experiments.judge import Judge, Plan

MOST_VIDEOS = 12


def find_refusals(plan: Plan, metric: str | None, method: Method) -> Mapping[str, str]:
    if method.uses_metric:
        return {"method": f"{method.title} goes by the hidden metric: it asks no person anything."}
    if method.pairs_by_vision:
        return {"method": f"A vision model answers the pairs of {method.title}: a person would only wait for its end."}
    if not method.asks_people:
        return {"method": f"{method.title} has nobody judge: a person would only wait for its end."}
    if plan.k > MOST_VIDEOS:
        return {"k": f"A person compares at most {MOST_VIDEOS} videos at a time."}
    return {}


JUDGE = Judge(
    name="human",
    title="A person",
    label="A person",
    next_step="then waits for a person's pick",
    asks_people=True,
    find_refusals=find_refusals,
)
