"""What answers cost: a dated price table times the usage that the endpoint reports. Unknown stays None."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

TABLE = Path(__file__).parent / "prices.json"


@dataclass(frozen=True)
class Usage:
    """Tokens of one call, as the endpoint counted them."""

    input_tokens: int
    output_tokens: int
    estimated: bool = False
    """The endpoint did not say: these are counted from the letters of question and answer, rather too many."""


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens, from this day on."""

    since: date
    input: float
    output: float


def read_table() -> dict[str, tuple[Price, ...]]:
    """Published list prices by model name, oldest first."""
    rows: dict[str, list[Price]] = {}
    for row in json.loads(TABLE.read_text()):
        price = Price(date.fromisoformat(row["since"]), row["input"], row["output"])
        rows.setdefault(row["model"], []).append(price)
    return {model: tuple(sorted(prices, key=lambda p: p.since)) for model, prices in rows.items()}


def find_list_prices(model: str) -> tuple[Price, ...]:
    """The list prices of this model; empty where none is known."""
    return read_table().get(model, ())


def compute_cost(usage: Usage | None, prices: Sequence[Price], day: date) -> float | None:
    """Dollars for one call on `day`: the latest price that is not later than it. None when usage or price is unknown.

    Discounts for cached input are not modelled, so this is an upper bound where an endpoint gives them.
    """
    current = [p for p in prices if p.since <= day]
    if usage is None or not current:
        return None
    price = max(current, key=lambda p: p.since)
    return (usage.input_tokens * price.input + usage.output_tokens * price.output) / 1e6


def sum_costs(costs: Sequence[float | None]) -> tuple[float, int]:
    """The sum of the known costs, and how many are unknown."""
    return sum(c for c in costs if c is not None), sum(c is None for c in costs)
