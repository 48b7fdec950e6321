"""The pooled share over crossed evaluators and pairs: against SciPy, a brute-force estimate and a simulation."""

from itertools import product

import numpy as np
import pytest
import scipy

from webapp.base.statistics import crossed
from webapp.base.statistics.crossed import pool_answers


def test_the_variance_is_the_unbiased_one_of_all_quadruples():
    """Gallas's estimate: the square of the mean, less the mean product of answers of other people about other pairs."""
    table = np.random.default_rng(3).random((6, 4)) + np.linspace(0, 2, 6)[:, None] + np.linspace(0, 3, 4)
    products = [
        table[a, b] * table[c, d] for a, b, c, d in product(range(6), range(4), range(6), range(4)) if a != c and b != d
    ]
    variance, freedom = crossed._measure_crossed(table)
    assert variance == pytest.approx(table.mean() ** 2 - np.mean(products)) and 3 <= freedom <= 15


def test_for_one_pair_and_one_answer_each_it_is_close_to_clopper_and_pearson():
    found = pool_answers([[1]] * 140 + [[0]] * 60, generalize=False)
    exact = scipy.stats.binomtest(140, 200)
    low, high = exact.proportion_ci(0.95, "exact")
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), abs=0.002)
    assert found.share == 0.7 and found.p == pytest.approx(exact.pvalue, rel=0.5)
    interval, p = crossed._invert_binomial(17, 20, 0.95)
    low, high = scipy.stats.binomtest(17, 20).proportion_ci(0.95, "exact")
    assert (interval.low, interval.high, p) == pytest.approx((low, high, scipy.stats.binomtest(17, 20).pvalue))


def test_where_everybody_agrees_each_pair_or_person_counts_once():
    found = pool_answers([[1, 1, 1]] * 20)
    assert (found.share, found.effective, found.interval.high) == (1.0, 3.0, 1.0)
    assert found.interval.low == pytest.approx(0.025 ** (1 / 3)) and found.p == pytest.approx(0.25)
    assert pool_answers([[0, 0]] * 20, generalize=False).effective == 20


def test_no_difference_takes_no_part():
    plain = pool_answers([[1, 0], [1, 1], [0, 1], [1, 1], [0, 0]])
    ties = pool_answers([[1, 0], [1, 1], [0, 1], [1, 1], [0, 0], [None, None]])
    assert plain.share == ties.share == 0.6
    assert ties.interval.low <= 0.6 <= ties.interval.high
    assert pool_answers([[None, None]] * 4) is None


@pytest.mark.parametrize("answers", [[], [[1, 0]], [[1], [0]]])
def test_one_pair_or_one_person_says_nothing_of_others(answers):
    assert pool_answers(answers) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("people", "pairs", "lean", "leaning", "spread"),
    [(20, 5, 0.0, 0.7, 0.7), (20, 4, 1.0, 1.0, 0.5), (12, 10, 2.0, 0.5, 1.0), (20, 3, 0.0, 0.0, 1.0)],
)
def test_the_interval_covers_the_truth_as_often_as_it_says(people, pairs, lean, leaning, spread):
    """Answers of a logistic model with crossed effects of evaluators and pairs."""
    draws = np.random.default_rng(7)
    truth = scipy.special.expit(lean + np.hypot(leaning, spread) * draws.standard_normal(200_000)).mean()
    hits = 0
    for _ in range(300):
        odds = lean + leaning * draws.standard_normal((people, 1)) + spread * draws.standard_normal((1, pairs))
        found = pool_answers((draws.random((people, pairs)) < scipy.special.expit(odds)).astype(float).tolist())
        hits += found.interval.low <= truth <= found.interval.high
    assert hits / 300 >= 0.93  # three standard errors below 95% would be 0.912


def test_the_interval_for_these_very_pairs_is_no_wider_than_for_others():
    draws = np.random.default_rng(5)
    odds = 0.5 + draws.standard_normal((20, 1)) + 1.5 * draws.standard_normal((1, 4))
    answers = (draws.random((20, 4)) < scipy.special.expit(odds)).astype(float).tolist()
    here, others = pool_answers(answers, generalize=False), pool_answers(answers)
    assert here.share == others.share and here.effective > 2 * others.effective
