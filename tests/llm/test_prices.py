from datetime import date

import pytest

from llm.prices import Price, Usage, compute_cost, find_list_prices, read_table, sum_costs

PRICES = [Price(date(2024, 1, 1), 10.0, 30.0), Price(date(2025, 1, 1), 2.0, 8.0)]


@pytest.mark.parametrize(
    ("day", "dollars"),
    [
        (date(2023, 12, 31), None),
        (date(2024, 1, 1), 0.16),
        (date(2024, 12, 31), 0.16),
        (date(2025, 1, 1), 0.036),
    ],
)
def test_the_price_of_the_day_counts(day, dollars):
    assert compute_cost(Usage(10_000, 2_000), PRICES, day) == (None if dollars is None else pytest.approx(dollars))


def test_unknown_stays_unknown():
    assert compute_cost(None, PRICES, date(2025, 1, 1)) is None
    assert compute_cost(Usage(1, 1), (), date(2025, 1, 1)) is None
    assert sum_costs([0.5, None, 0.25, None]) == (0.75, 2)


def test_every_row_of_the_table_is_dated_and_priced():
    assert find_list_prices("no-such-model") == ()
    for prices in read_table().values():
        assert [p.since for p in prices] == sorted(p.since for p in prices)
        assert all(0 < p.input < p.output for p in prices)
