"""The hidden metric judges at once; with options it is a noisy teacher."""

from __future__ import annotations

from collections.abc import Mapping

from llm.judges import proxy
from llm.method import Method
from webapp.experiments.judge import Judge, Plan


def find_refusals(plan: Plan, metric: str | None, method: Method) -> Mapping[str, str]:
    if metric or method.pairs_by_vision:
        return {}
    if method.asks_pairs:
        return {"method": f"{plan.task_title} has no metric, so no teacher can answer the pairs of {method.title}."}
    return {"judge": f"{plan.task_title} has no metric: a person or a language model can judge it."}


JUDGE = Judge(
    name="proxy",
    title="The hidden metric (proxy)",
    label="Hidden metric",
    next_step="then picks by the hidden metric",
    decide=proxy.judge,
    uses_metric=True,
    options=proxy.OPTIONS,
    find_refusals=find_refusals,
)
