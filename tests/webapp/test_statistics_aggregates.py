"""Aggregates over tasks and runs, against small cases by hand and against SciPy's tests."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy

from webapp.base.statistics import aggregates
from webapp.base.statistics.aggregates import (
    bound_improvement,
    bound_interquartile_mean,
    bound_mean,
    compute_detectable_difference,
    compute_detectable_gap,
    compute_detectable_shift,
    compute_interquartile_mean,
    compute_profile,
    estimate_improvement,
    estimate_noise_floor,
)


def test_the_interquartile_mean_is_that_of_the_middle_half() -> None:
    assert compute_interquartile_mean((100.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -50.0)) == (2 + 3 + 4 + 5) / 4
    assert compute_interquartile_mean((1.0, 2.0, 9.0)) == 4.0, (
        "of three none is cut: a quarter of them is less than one"
    )
    with pytest.raises(ValueError, match="needs a value"):
        compute_interquartile_mean(())


def test_the_probability_of_improvement_counts_pairs_task_by_task() -> None:
    """Task 1: of (2, 1), (2, 3), (4, 1), (4, 3) three are higher; task 2: a tie. It is Mann-Whitney's U / (n m)."""
    first, second = ((2.0, 4.0), (5.0,)), ((1.0, 3.0), (5.0,))
    assert estimate_improvement(first, second) == (3 / 4 + 1 / 2) / 2
    assert estimate_improvement(second, first) == 1 - estimate_improvement(first, second)
    a, b = (0.3, 1.2, 0.7, 2.0), (0.5, 0.7, -1.0)
    assert estimate_improvement((a,), (b,)) == pytest.approx(scipy.stats.mannwhitneyu(a, b).statistic / 12)


def test_the_bootstrap_draws_within_each_task() -> None:
    """Between tasks that differ by 100 nothing varies: all resamples of (0, 0) and (100, 100) are equal."""
    assert bound_mean(((0.0, 0.0), (100.0, 100.0))) == aggregates.Interval(50.0, 50.0)
    assert bound_interquartile_mean(((1.0, 2.0), (3.0,))) is None, "one run tells no spread"


def test_the_interval_of_a_mean_is_that_of_all_resamples() -> None:
    """Of three values all 27 resamples can be listed; SciPy's 2,000 random ones come near their quantiles."""
    values = (1.0, 2.0, 6.0)
    means = [np.mean(drawn) for drawn in itertools.product(values, repeat=3)]
    low, high = np.quantile(means, [0.025, 0.975], method="inverted_cdf")
    found = bound_mean((values,))
    assert found is not None and (found.low, found.high) == pytest.approx((low, high), abs=0.01)


def test_the_interval_of_an_improvement_holds_it() -> None:
    first, second = ((1.0, 2.0, 3.0, 4.0),), ((0.0, 1.5, 2.5, 3.5),)
    found = bound_improvement(first, second)
    assert found is not None and 0 <= found.low < estimate_improvement(first, second) < found.high <= 1
    assert bound_improvement(((2.0, 3.0),), ((0.0, 1.0),)) == aggregates.Interval(1.0, 1.0)


def test_a_profile_is_the_share_of_runs_above_each_threshold() -> None:
    shares = compute_profile(((0.0, 1.0), (1.0, 2.0, 3.0, 4.0)), (-1.0, 0.5, 1.0, 5.0))
    assert [share for share, _ in shares] == [1.0, (1 / 2 + 1) / 2, (0 + 3 / 4) / 2, 0.0]
    assert all(bounds is not None and bounds.low <= share <= bounds.high for share, bounds in shares)


def test_what_can_be_found_is_found_in_eight_of_ten_simulated_comparisons() -> None:
    gap = compute_detectable_difference(0.5, 15, 0.05)
    assert gap is not None
    rng = np.random.default_rng(0)
    found = scipy.stats.ttest_1samp(rng.normal(gap, 0.5, (20_000, 15)), 0.0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.01)
    tighter = compute_detectable_difference(0.5, 15, 0.05 / 7)
    assert tighter is not None and tighter > gap


@pytest.mark.parametrize(("size", "alpha"), [(2, 0.05), (3, 0.05 / 6), (8, 0.05), (40, 0.05)])
def test_a_gap_between_two_groups_is_found_in_eight_of_ten_simulated_studies(size: int, alpha: float) -> None:
    """By the test that a study's page makes, with two in each group too."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(compute_detectable_gap(size, alpha), 1, (20_000, size)), rng.normal(0, 1, (20_000, size))
    found = scipy.stats.ttest_ind(first, second, axis=1, equal_var=False).pvalue < alpha
    assert found.mean() == pytest.approx(0.8, abs=0.01)


def test_large_groups_find_what_cohen_says() -> None:
    assert compute_detectable_gap(64, 0.05) == pytest.approx(0.5, abs=0.002), "Cohen (1988): 64 in each group for 0.5"


def test_five_pairs_find_a_shift_by_the_paired_t_test_in_eight_of_ten_simulated_studies() -> None:
    rng = np.random.default_rng(0)
    found = (
        scipy.stats.ttest_1samp(rng.normal(compute_detectable_shift(5, 0.05), 1, (20_000, 5)), 0.0, axis=1).pvalue
        < 0.05
    )
    assert found.mean() == pytest.approx(0.8, abs=0.01)


def test_few_pairs_find_nothing_however_large() -> None:
    assert compute_detectable_difference(0.5, 5, 0.05) is None, "2 / 2^5 = 0.0625"
    assert compute_detectable_difference(0.5, 6, 0.05) is not None
    assert compute_detectable_difference(0.5, 6, 0.05 / 2) is None, "2 / 2^6 = 0.031"
    assert compute_detectable_difference(0.5, 1, 1.0) is None


def test_the_noise_floor_is_passed_by_chance_once_in_twenty() -> None:
    """A/A differences 3 and -4: root mean square sqrt(12.5); Student's t with 2 degrees of freedom: 4.303."""
    assert estimate_noise_floor((3.0, -4.0), 1) == pytest.approx(4.3027 * math.sqrt(12.5), rel=1e-4)
    assert estimate_noise_floor((3.0, -4.0), 4) == pytest.approx(4.3027 * math.sqrt(12.5) / 2, rel=1e-4)
    assert estimate_noise_floor((), 4) is None and estimate_noise_floor((1.0,), 0) is None
    rng = np.random.default_rng(1)
    chance, tested = rng.normal(0, 1, (2, 20_000, 5))
    factor = estimate_noise_floor((1.0,) * 5, 5)
    floors = factor * np.sqrt((chance**2).mean(axis=1))  # the floor is proportional to the root mean square
    assert np.mean(abs(tested.mean(axis=1)) > floors) == pytest.approx(0.05, abs=0.01)
