import pytest

from trainer.traces import Series, summarize_metric, summarize_series


def series(*values: float) -> Series:
    return Series(values, [1] * len(values))


def test_interval_means_weigh_by_count():
    assert Series([2.0, 12.0, 5.0, 7.0], [1, 3, 1, 1]).interval_means(2, 4) == [14 / 4, 6.0]


def test_an_unfinished_run_has_the_intervals_it_reached():
    assert series(1, 2, 3).interval_means(5, 10) == [1.5, 3.0]


def test_a_short_run_has_one_interval_per_iteration():
    assert series(1, 2, 3).interval_means(10, 3) == [1, 2, 3]


def test_an_empty_interval_repeats_the_one_before_or_takes_the_first():
    assert Series([0, 0, 4, 0, 6], [0, 0, 2, 0, 2]).interval_means(5, 5) == [2, 2, 2, 2, 3]


def test_every_iteration_falls_into_exactly_one_interval():
    for iterations in (7, 49, 50, 51, 99, 101, 500):
        means = Series(range(iterations), [1] * iterations).interval_means(50, iterations)
        assert len(means) == min(50, iterations)
        whole = Series(range(iterations), [1] * iterations).interval_means(1, iterations)
        assert whole == [pytest.approx((iterations - 1) / 2)]


def test_summary_has_ten_samples_and_extremes_of_the_intervals():
    result = summarize_series(series(*range(100)), 100)
    assert result["samples"] == [4.5 + 10 * i for i in range(10)]
    assert (result["min"], result["mean"], result["max"]) == (0.5, 49.5, 98.5)


def test_metric_summary_has_every_interval_and_is_empty_without_a_metric():
    assert summarize_metric(series(*range(100)), 100)["all"] == [0.5 + 2 * i for i in range(50)]
    assert summarize_metric(Series([0.0, 0.0], [0, 0]), 2) == {}


def test_an_average_over_worlds_is_not_moved_far_by_the_few_episodes_that_end_early():
    successes = Series([1.0, 0.0, 2.0, 1.0, 8.0], [1, 0, 2, 4, 8])  # of four worlds
    averaged = successes.average_over(4)
    assert averaged.sums == [0.25, 0.25, 0.625, 0.25, 1.0] and averaged.counts == [1] * 5
    assert averaged.interval_means(5, 5) == averaged.sums
    assert successes.interval_means(5, 5)[0] == 1.0, "without it the first interval knows successes alone"
