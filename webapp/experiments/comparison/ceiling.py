"""What a comparison may use up at most, from the budgets of its experiments."""

from __future__ import annotations

from dataclasses import dataclass

from webapp.experiments.comparison.plan import Plan
from webapp.experiments.models import LanguageModel

MILLION = 1_000_000


@dataclass(frozen=True)
class Ceiling:
    """Of the experiments that are still to be finished. Budgets are looked at before each round of answers, so each of
    these experiments may go over its own by one such round.
    """

    experiments: int
    free: bool
    """No endpoint is asked."""
    tokens: int | None
    """None: no limit is set."""
    dollars: float | None
    """None: no limit is set, and none follows from the tokens, or some price is unknown."""


def ceiling(plan: Plan, experiments: int) -> Ceiling:
    """What so many of the plan's experiments may use up."""
    asked = [model for model in (plan.model, plan.vision) if model and model.kind != LanguageModel.Kind.OFFLINE]
    if not asked:
        return Ceiling(experiments, True, 0, 0.0)
    each = [plan.dollar_budget, _price(plan.token_budget, asked)]
    known = [dollars for dollars in each if dollars is not None]
    tokens = None if plan.token_budget is None else experiments * plan.token_budget
    return Ceiling(experiments, False, tokens, experiments * min(known) if known else None)


def _price(tokens: int | None, models: list[LanguageModel]) -> float | None:
    """Of so many tokens, all of the dearest kind; None where a price is not known."""
    prices = [price for model in models for price in (model.price_input, model.price_output)]
    known = [price for price in prices if price is not None]
    return None if tokens is None or len(known) < len(prices) else tokens * max(known) / MILLION
