from datetime import date

import pytest

from llm.prices import Price, Usage, cost, find_list_prices, table, total

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
    assert cost(Usage(10_000, 2_000), PRICES, day) == (None if dollars is None else pytest.approx(dollars))


def test_unknown_stays_unknown():
    assert cost(None, PRICES, date(2025, 1, 1)) is None
    assert cost(Usage(1, 1), (), date(2025, 1, 1)) is None
    assert total([0.5, None, 0.25, None]) == (0.75, 2)


def test_every_row_of_the_table_is_dated_and_priced():
    assert find_list_prices("no-such-model") == ()
    for prices in table().values():
        assert [p.since for p in prices] == sorted(p.since for p in prices)
        assert all(0 < p.input < p.output for p in prices)
