"""The most that a comparison may use up, from the budgets of its experiments."""

from __future__ import annotations

from dataclasses import dataclass

from llm.prices import find_list_prices
from webapp.comparisons.plan import Plan
from webapp.experiments.models import LanguageModel

MILLION = 1_000_000


@dataclass(frozen=True)
class Ceiling:
    """For the experiments of methods that are still to be finished; no other experiment asks a model. A budget is
    checked before each answer, so an experiment exceeds its own only where answers are longer than usual.
    """

    experiments: int
    free: bool
    """Whether no endpoint is asked."""
    tokens: int | None
    """None where no limit is set."""
    dollars: float | None
    """None where neither budget sets a limit, or a price is unknown."""


def compute_ceiling(plan: Plan, experiments: int) -> Ceiling:
    """The most that this number of the plan's experiments may use up."""
    roles = (plan.model, plan.vision, plan.describer, plan.judge_model)
    asked = [model for model in roles if model and not model.is_offline]
    if not asked:
        return Ceiling(experiments, True, 0, 0.0)
    tokens = None if plan.token_budget is None else experiments * plan.token_budget
    return Ceiling(experiments, False, tokens, _compute_dollars(plan, asked, experiments))


def _compute_dollars(plan: Plan, asked: list[LanguageModel], experiments: int) -> float | None:
    """The lower of the two budgets' limits; None where a price is unknown, because no budget in dollars works then."""
    each = [_find_highest_price(model) for model in asked]
    prices = [price for price in each if price is not None]
    if len(prices) < len(each):
        return None
    by_tokens = None if plan.token_budget is None else plan.token_budget * max(prices) / MILLION
    known = [dollars for dollars in (plan.dollar_budget, by_tokens) if dollars is not None]
    return experiments * min(known) if known else None


def _find_highest_price(model: LanguageModel) -> float | None:
    """US dollars for a million input or output tokens, whichever cost more: from its row, else as published."""
    if model.price_input is not None and model.price_output is not None:
        return max(model.price_input, model.price_output)
    published = find_list_prices(model.model)
    return max(published[-1].input, published[-1].output) if published else None
