"""Means, differences and tests of groups, against values of R 4.2."""

import pytest

from webapp.base.statistics.group_tests import compare_groups, compare_two, summarize_mean

A = {"a": 310.0, "b": 290.0, "c": 330.0, "d": 300.0}
B = {"e": 240.0, "f": 270.0, "g": 255.0}


def test_a_mean_has_students_interval():
    one = summarize_mean(list(A.values()))
    assert (one.mean, one.interval.low, one.interval.high) == pytest.approx((307.5, 280.3246912, 334.6753088), rel=1e-8)
    assert summarize_mean([3.0]).interval is None


def test_independent_groups_by_welch():
    """t.test(B, A)"""
    one = compare_two(("A", A), ("B", B))
    assert (one.interval.low, one.interval.high, one.p) == pytest.approx(
        (-84.21798701, -20.78201299, 0.008438026847), rel=1e-6
    )
    assert one.test == "Welch's t test" and one.small and one.rank_p == pytest.approx(2 / 35)


def test_the_same_units_in_pairs():
    """t.test(second, first, paired = TRUE)"""
    second = {"a": 280.0, "b": 285.0, "c": 301.0, "x": 1000.0}
    one = compare_two(("A", A), ("B", second))
    assert (one.design, one.counts, one.left_out, one.difference) == ("paired", (3, 3), 2, pytest.approx(-64 / 3))
    assert (one.interval.low, one.interval.high, one.p) == pytest.approx(
        (-56.49360942, 13.82694275, 0.1207264744), rel=1e-6
    )


def test_what_cannot_be_tested_is_not():
    for other in ({"x": 1.0}, {"x": 1.0, "y": 1.0}):
        one = compare_two(("A", {"a": 2.0, "b": 2.0}), ("B", other))
        assert (one.difference, one.p, one.interval) == (-1, None, None)


def test_several_pairs_are_corrected_by_holm():
    found = compare_groups({"A": A, "B": B, "C": {"h": 300.0, "i": 280.0}, "empty": {}})
    assert [(one.first, one.second) for one in found] == [("A", "B"), ("A", "C"), ("B", "C")]
    smallest, *others = sorted(one.p for one in found)
    assert min(one.adjusted for one in found) == pytest.approx(3 * smallest)
    assert max(one.adjusted for one in found) >= max(others)
