"""The numbers of a vote, against values that others published and against SciPy used another way."""

import pytest
import scipy

from llm.judges.panel import Comparison
from webapp.base.statistics.corrections import bonferroni, holm
from webapp.base.statistics.proportions import (
    binomial_test,
    clopper_pearson,
    compute_power,
    summarize_preference,
    wilson,
)
from webapp.votes.poll_results import estimate_strengths


def test_seventeen_of_twenty_as_published_with_icpl():
    found = summarize_preference(17, 3)
    assert found.p == pytest.approx(2702 / 2**20)  # 2 (C(20,17) + C(20,18) + C(20,19) + C(20,20)) / 2^20 = 0.0026
    assert (round(found.exact.low, 3), round(found.exact.high, 3)) == (0.621, 0.968)
    assert found.rate == 0.85 and found.trials == 20
    assert found.mean == pytest.approx(18 / 22)


def test_clopper_pearson_on_published_examples():
    # Agresti and Coull (1998): 0 of n gives (0, 1 - (alpha/2)^(1/n)), n of n its mirror image
    assert clopper_pearson(0, 10).high == pytest.approx(1 - 0.025 ** (1 / 10))
    assert clopper_pearson(10, 10).low == pytest.approx(0.025 ** (1 / 10))
    # Newcombe (1998), Statistics in Medicine 17:857, table I, exact method: 81 of 263 and 15 of 148
    for k, n, low, high in ((81, 263, 0.2527, 0.3676), (15, 148, 0.0578, 0.1617)):
        found = clopper_pearson(k, n)
        assert (round(found.low, 4), round(found.high, 4)) == (low, high)
    assert clopper_pearson(3, 20, 0.99).low < clopper_pearson(3, 20, 0.95).low


@pytest.mark.parametrize(("first", "second"), [(17, 3), (0, 7), (10, 10), (1, 0), (0, 0)])
def test_bayesian_interval_is_of_the_beta_posterior(first, second):
    found = summarize_preference(first, second, 0.9)
    quantiles = [scipy.special.betaincinv(1 + first, 1 + second, q) for q in (0.05, 0.95)]
    assert (found.credible.low, found.credible.high) == pytest.approx(tuple(quantiles))
    assert found.above_half == pytest.approx(1 - scipy.special.betainc(1 + first, 1 + second, 0.5))


def test_without_votes_nothing_is_claimed():
    found = summarize_preference(0, 0)
    assert found.p == 1.0 and found.rate is None
    assert (found.exact.low, found.exact.high) == (0.0, 1.0)


@pytest.mark.parametrize(("k", "n"), [(3, 20), (10, 20), (9, 19), (0, 5), (61, 100)])
def test_two_sided_test_is_twice_the_smaller_tail(k, n):
    tail = sum(scipy.special.binom(n, i) for i in range(min(k, n - k) + 1)) / 2**n
    assert binomial_test(k, n) == pytest.approx(min(1.0, 2 * tail))


def test_holm_on_its_textbook_example():
    # p = 0.01, 0.04, 0.03, 0.005: statsmodels' multipletests(method="holm") gives 0.03, 0.06, 0.06, 0.02
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert bonferroni([0.01, 0.04, 0.3]) == pytest.approx([0.03, 0.12, 0.9])
    assert holm([0.9, 0.8]) == [1.0, 1.0] and holm([]) == []


@pytest.mark.parametrize(("n", "rate", "alpha"), [(20, 0.8, 0.05), (30, 0.7, 0.01), (15, 0.3, 0.05), (5, 0.99, 0.05)])
def test_power_is_the_probability_of_a_small_p(n, rate, alpha):
    by_enumeration = sum(scipy.stats.binom.pmf(k, n, rate) for k in range(n + 1) if binomial_test(k, n) <= alpha)
    assert compute_power(n, rate, alpha) == pytest.approx(by_enumeration)


def test_strengths_of_two_arms_are_the_log_odds():
    rated, plain = estimate_strengths([Comparison("a", "b")] * 15 + [Comparison("b", "a")] * 5, ["a", "b"])
    assert plain and rated["a"].value - rated["b"].value == pytest.approx(1.0986, abs=1e-4)  # log 3
    error = (1 / 15 + 1 / 5) ** 0.5  # of the log odds; of each strength, which sum to zero, half as much
    assert rated["a"].high - rated["a"].value == pytest.approx(1.96 * error / 2, abs=1e-3)


def test_an_arm_that_always_wins_has_a_finite_strength():
    seen = [Comparison("a", "b")] * 9 + [Comparison("b", "c")] * 5 + [Comparison("c", "b")] * 4
    rated, plain = estimate_strengths(seen, ["a", "b", "c", "never shown"])
    assert not plain and rated["a"].value > rated["b"].value > rated["c"].value
    assert rated["never shown"].value == pytest.approx(0.0, abs=1e-6)


def test_wilson_by_hand():
    """Of 3 in 7: centre (p + z2/2n) / (1 + z2/n), half width z sqrt(p(1-p)/n + z2/4n2) / (1 + z2/n)."""
    found = wilson(3, 7)
    assert (found.low, found.high) == pytest.approx((0.15822, 0.74954), abs=1e-5)
