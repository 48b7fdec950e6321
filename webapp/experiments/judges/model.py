"""A language model judges by code and traces or by answers; with the option `frames`, a vision model by pictures."""

from __future__ import annotations

from collections.abc import Mapping

from llm.judges import model
from llm.method import Method
from webapp.experiments.judge import Judge, Options, Plan


def count_frames(options: Options) -> int:
    return int(options.get(model.FRAMES, 0))


def find_refusals(plan: Plan, metric: str | None, method: Method) -> Mapping[str, str]:
    refusal = {"judge": f"A language model does not answer the pairs of {method.title}: the hidden metric's judge can."}
    return refusal if method.asks_pairs and not method.pairs_by_vision else {}


JUDGE = Judge(
    name="model",
    title="A language model",
    label="A language model",
    next_step="then has a language model pick",
    options=model.OPTIONS,
    count_frames=count_frames,
    find_refusals=find_refusals,
)
