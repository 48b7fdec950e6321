import math

import pytest

from llm.methods.rf_agent.valuing import preferences, strengths
from llm.records import Pick


def test_best_and_worst_imply_comparisons():
    assert preferences(["a", "b", "c"], Pick("b", "c")) == [("b", "a"), ("b", "c"), ("a", "c")]
    assert preferences(["a", "b"], Pick("b", "a")) == [("b", "a")]
    assert preferences(["a", "b"], Pick("b", None)) == [("b", "a")]
    assert preferences(["a"], Pick("a", None)) == []


def win(a, b):
    return 1 / (1 + math.exp(b - a))


def test_strengths_are_where_wins_equal_expected_wins():
    pairs = [("a", "b"), ("a", "b"), ("b", "a"), ("b", "c"), ("d", "c")]
    found = strengths(pairs, ["a", "b", "c", "d", "e"])
    for name, own in found.items():
        wins = sum(winner == name for winner, _ in pairs) + 0.5
        met = [loser if winner == name else winner for winner, loser in pairs if name in (winner, loser)]
        assert wins == pytest.approx(win(own, 0.0) + sum(win(own, found[other]) for other in met), abs=1e-6)
    assert found["a"] > found["b"] > found["c"] and found["e"] == 0.0


def test_one_comparison_by_hand():
    # Symmetric: s = -t. 1.5 = sigma(s) + sigma(2 s), solved by bisection.
    low, high = 0.0, 5.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if win(middle, 0) + win(2 * middle, 0) < 1.5 else (low, middle)
    found = strengths([("a", "b")], ["a", "b"])
    assert found == pytest.approx({"a": low, "b": -low}, abs=1e-6)


def test_whoever_always_wins_stays_finite_and_order_does_not_matter():
    pairs = [("a", "b")] * 50 + [("b", "c")] * 50
    found = strengths(pairs, ["a", "b", "c"])
    assert all(math.isfinite(s) for s in found.values())
    assert found == pytest.approx(strengths(pairs[::-1], ["c", "b", "a"]))


def test_an_anchor_ties_rounds_that_share_it():
    first = preferences(["a", "b", "c"], Pick("a", "c"))
    second = preferences(["d", "e", "a"], Pick("d", "e"))
    found = strengths(first + second, list("abcde"))
    assert found["d"] > found["a"] > found["b"] > found["c"] and found["a"] > found["e"]
