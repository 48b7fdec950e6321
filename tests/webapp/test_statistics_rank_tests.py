"""The tests of significance of `./prefine compare`, against every division and every flip written out."""

from __future__ import annotations

import itertools
from statistics import mean, stdev

import pytest

from webapp.base.statistics.rank_tests import compare_by_seed, mann_whitney


def by_hand(first: list[float], second: list[float]) -> tuple[float, float]:
    """U and p from every division of the pooled values, written out."""
    pooled = first + second

    def u(side: tuple[int, ...]) -> float:
        rest = [pooled[i] for i in range(len(pooled)) if i not in side]
        return sum((pooled[i] > b) + 0.5 * (pooled[i] == b) for i in side for b in rest)

    centre = len(first) * len(second) / 2
    seen = u(tuple(range(len(first))))
    all_u = [u(side) for side in itertools.combinations(range(len(pooled)), len(first))]
    return seen, sum(abs(x - centre) >= abs(seen - centre) for x in all_u) / len(all_u)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([3.0, 4.0, 5.0], [0.0, 1.0, 2.0]),
        ([1.0, 2.0, 2.0, 5.0], [2.0, 3.0, 0.5]),
        ([1.0, 1.0, 1.0], [1.0, 1.0]),
        ([-0.5, 7.1, 3.3, 2.2, 9.0], [1.1, 0.2, 3.3, 4.4, 2.0]),
        ([1.0], [2.0, 3.0]),
    ],
)
def test_mann_whitney_counts_every_division(first: list[float], second: list[float]) -> None:
    test = mann_whitney(first, second)
    u, p = by_hand(first, second)
    assert (test.u, test.p) == (u, pytest.approx(p, abs=1e-12))
    assert (test.first, test.second) == (len(first), len(second))


def test_five_against_five_apart_is_two_in_252() -> None:
    test = mann_whitney([6, 7, 8, 9, 10], [1, 2, 3, 4, 5])
    assert test.p == test.least_p == pytest.approx(2 / 252)
    assert mann_whitney([4, 5, 6], [1, 2, 3]).p == pytest.approx(0.1)
    with pytest.raises(ValueError, match="a value on each side"):
        mann_whitney([], [1.0])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([3.814, 3.782, 4.838], [3.801, 3.513, 4.425]),
        ([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 0.5, 3.0, 1.0, 9.0]),
        ([2.0, 2.0], [2.0, 2.0]),
        ([1.0], [2.0]),
    ],
)
def test_by_seed_flips_every_sign(first: list[float], second: list[float]) -> None:
    test = compare_by_seed(first, second)
    gaps = [a - b for a, b in zip(first, second, strict=True)]
    flips = [
        abs(sum(sign * gap for sign, gap in zip(s, gaps, strict=True)))
        for s in itertools.product((1, -1), repeat=len(gaps))
    ]
    assert test.difference == pytest.approx(mean(gaps))
    assert test.deviation == (pytest.approx(stdev(gaps)) if len(gaps) > 1 else None)
    assert test.p == pytest.approx(mean(flip >= abs(sum(gaps)) - 1e-12 for flip in flips))


def test_twenty_seeds_are_too_many_to_flip_all_of_and_give_the_same_p_again() -> None:
    first, second = [i % 7 for i in range(20)], [i % 5 for i in range(20)]
    assert compare_by_seed(first, second) == compare_by_seed(first, second) and 0 < compare_by_seed(first, second).p < 1
    with pytest.raises(ValueError, match="two samples of the same length"):
        compare_by_seed([1.0], [])
