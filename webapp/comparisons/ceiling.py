"""What a comparison may use up at most, from the budgets of its experiments."""

from __future__ import annotations

from dataclasses import dataclass

from llm.prices import known_prices
from webapp.comparisons.plan import Plan
from webapp.experiments.models import LanguageModel

MILLION = 1_000_000


@dataclass(frozen=True)
class Ceiling:
    """Of the experiments that are still to be finished. Budgets are looked at before each answer, so each of these
    experiments goes over its own only by what answers are longer than usual.
    """

    experiments: int
    free: bool
    """No endpoint is asked."""
    tokens: int | None
    """None: no limit is set."""
    dollars: float | None
    """None: no limit is set, and none follows from the tokens, or some price is unknown."""


def compute_ceiling(plan: Plan, experiments: int) -> Ceiling:
    """What so many of the plan's experiments may use up."""
    roles = (plan.model, plan.vision, plan.describer, plan.judge_model)
    asked = [model for model in roles if model and model.kind != LanguageModel.Kind.OFFLINE]
    if not asked:
        return Ceiling(experiments, True, 0, 0.0)
    tokens = None if plan.token_budget is None else experiments * plan.token_budget
    return Ceiling(experiments, False, tokens, _compute_dollars(plan, asked, experiments))


def _compute_dollars(plan: Plan, asked: list[LanguageModel], experiments: int) -> float | None:
    """The lower of what both budgets permit; a budget in dollars ends nothing where a price is unknown."""
    each = [_find_highest_price(model) for model in asked]
    prices = [price for price in each if price is not None]
    if len(prices) < len(each):
        return None
    by_tokens = None if plan.token_budget is None else plan.token_budget * max(prices) / MILLION
    known = [dollars for dollars in (plan.dollar_budget, by_tokens) if dollars is not None]
    return experiments * min(known) if known else None


def _find_highest_price(model: LanguageModel) -> float | None:
    """US dollars of a million tokens of its dearer kind: as its row says, else as published; None where unknown."""
    if model.price_input is not None and model.price_output is not None:
        return max(model.price_input, model.price_output)
    published = known_prices(model.model)
    return max(published[-1].input, published[-1].output) if published else None
