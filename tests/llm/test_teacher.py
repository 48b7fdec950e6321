"""B-Pref's teachers, one property each."""

import math
import random

import pytest

from llm.judges.proxy import judge
from llm.judges.teacher import compute_utilities
from llm.records import Candidate, Choose, Compare, Judge, Outcome, Pick
from teachers.noisy import Teacher, choose_best, compare, compute_preference


def outcome(name, rts, samples=()):
    return Outcome(Candidate(name, "..."), True, metric_trace={"samples": list(samples)}, rts=rts)


ROUND = tuple(outcome(f"1-{i}", score) for i, score in enumerate((2.0, 6.0, 1.0, 3.0), 1))


def shares(ask, options, draws=4000, unit=None):
    answers = [judge(ask, options, seed, unit) for seed in range(draws)]
    return lambda answer: answers.count(answer) / draws


def test_it_errs_as_often_as_its_rationality_says():
    """Utilities are 6/4 and 2/4 of the mean size 4: P = 1 / (1 + exp(-beta (1.5 - 0.5)))."""
    share = shares(Compare(1, outcome("a", 6.0), outcome("b", 2.0)), {"beta": 2.0})
    assert share("first") == pytest.approx(1 / (1 + math.exp(-2.0)), abs=0.02)
    assert compute_preference(1.0, 3.0, 0.5) == pytest.approx(1 / (1 + math.e))
    assert compute_preference(1.0, 3.0, -1) == 0


def test_best_of_several_is_the_plackett_luce_choice():
    share = shares(Choose(ROUND), {"beta": 1.0})
    sizes = [math.exp(v / 3.0) for v in (2.0, 6.0, 1.0, 3.0)]
    for i, size in enumerate(sizes, 1):
        assert share(f"1-{i}") == pytest.approx(size / sum(sizes), abs=0.03)


def test_a_blind_one_takes_any():
    assert shares(Choose(ROUND), {"beta": 0.0})("1-3") == pytest.approx(0.25, abs=0.03)


def test_a_mistake_turns_the_answer_round():
    assert judge(Compare(1, ROUND[1], ROUND[0]), {"mistake": 1.0}) == "second"
    assert judge(Judge(1, ROUND), {"mistake": 1.0}) == Pick("1-3", "1-2")
    assert judge(Choose(ROUND), {"mistake": 1.0}) == "1-3" and judge(Choose(ROUND[:1]), {"mistake": 1.0}) == "1-1"
    assert shares(Choose(ROUND), {"mistake": 0.2})("1-3") == pytest.approx(0.2, abs=0.02)
    share = shares(Compare(1, ROUND[1], ROUND[0]), {"mistake": 0.2})
    assert share("second") == pytest.approx(0.2, abs=0.02)


def test_small_differences_are_equal_and_poor_pairs_are_skipped():
    close, poor = Compare(1, outcome("a", 1.0), outcome("b", 1.05)), Compare(1, outcome("a", -5.0), outcome("b", 1.0))
    assert judge(close, {"equal": 0.1}) == "equal" and judge(close) == "second"
    assert judge(poor, {"skip": 0.5}) == "skip" and judge(poor) == "second"


def test_thresholds_are_shares_of_the_experiments_mean_and_not_of_the_pairs_own():
    """RTS so far 2, 6, 1, 3, mean size 3. A pair of 0.3 and 0.9: utilities 0.1 and 0.3, by its own mean 0.5 and 1.5."""
    poor = Compare(1, outcome("a", 0.3), outcome("b", 0.9))
    assert compute_utilities([poor.first, poor.second], Teacher(), 3.0) == pytest.approx([0.1, 0.3])
    assert compute_utilities([poor.first, poor.second], Teacher()) == pytest.approx([0.5, 1.5])
    assert judge(poor, {"skip": 0.35}, unit=3.0) == "skip" and judge(poor, {"skip": 0.25}, unit=3.0) == "second"
    assert judge(poor, {"equal": 0.25}, unit=3.0) == "equal" and judge(poor, {"equal": 0.15}, unit=3.0) == "second"
    share = shares(poor, {"beta": 2.0}, unit=3.0)
    assert share("second") == pytest.approx(1 / (1 + math.exp(-2.0 * 0.2)), abs=0.03)


def test_poor_is_worse_than_the_share_where_the_metric_is_negative_too():
    """Distances: RTS so far around -2. With 0.5 of it as the limit, -0.9 is good enough and -1.2 is not."""
    good, poor = Compare(1, outcome("a", -3.0), outcome("b", -0.9)), Compare(1, outcome("a", -3.0), outcome("b", -1.2))
    assert judge(good, {"skip": 0.5}, unit=-2.0) == "second" and judge(poor, {"skip": 0.5}, unit=-2.0) == "skip"


def test_a_myopic_one_counts_late_moments_more():
    """(0.25 * 8 + 0.5 * 0 + 1 * 0) / 1.75 against (0 + 0.5 * 1 + 1 * 3) / 1.75."""
    early, late = outcome("a", 8.0, (8, 0, 0)), outcome("b", 3.0, (0, 1, 3))
    assert judge(Compare(1, early, late)) == "first"
    assert judge(Compare(1, early, late), {"gamma": 0.5}) == "second"
    values = compute_utilities([early, late], Teacher(gamma=0.5))
    assert values[0] / values[1] == pytest.approx(2.0 / 3.5)


def test_thresholds_heed_what_came_early_even_for_a_myopic_one():
    """8 and 3 in units of their mean 5.5: 1.45 and 0.55. Discounted they are 0.21 and 0.36, alike and poor."""
    early, late = outcome("a", 8.0, (8, 0, 0)), outcome("b", 3.0, (0, 1, 3))
    assert judge(Compare(1, early, late), {"gamma": 0.5, "equal": 0.5}) == "second"
    assert judge(Compare(1, early, late), {"gamma": 0.5, "equal": 0.95}) == "equal"
    assert judge(Compare(1, early, late), {"gamma": 0.5, "skip": 1.4}, unit=5.5) == "second"
    assert judge(Compare(1, early, late), {"gamma": 0.5, "skip": 1.5}, unit=5.5) == "skip"


def test_a_rational_one_that_does_not_see_small_differences_takes_any_of_those_alike():
    """exp(0), exp(-0.2) and exp(-1.8) over their sum; the first two change places half the time."""
    teacher, powers = Teacher(beta=2.0, equal=0.2), [1.0, math.exp(-0.2), math.exp(-1.8)]
    drawn = [choose_best([1.0, 0.9, 0.1], teacher, random.Random(seed)) for seed in range(4000)]
    assert drawn.count(0) / 4000 == pytest.approx((powers[0] + powers[1]) / 2 / sum(powers), abs=0.03)
    assert drawn.count(2) / 4000 == pytest.approx(powers[2] / sum(powers), abs=0.03)


def test_those_that_look_equal_are_drawn_from():
    teacher = Teacher(equal=0.2)
    drawn = {choose_best([1.0, 0.9, 0.1], teacher, random.Random(seed)) for seed in range(40)}
    assert drawn == {0, 1}


def test_without_noise_it_is_the_proxy_and_equal_only_for_ties():
    assert judge(Judge(1, ROUND)) == Pick("1-2", "1-3")
    assert judge(Compare(1, outcome("a", 2.0), outcome("b", 2.0))) == "equal"
    assert compare(0.0, 0.0, Teacher(beta=3.0), random.Random(1)) == "equal"


def test_what_it_answers_follows_from_the_seed():
    noisy = [[judge(Judge(1, ROUND), {"beta": 0.5, "mistake": 0.3}, seed) for seed in range(30)] for _ in range(2)]
    assert noisy[0] == noisy[1] and len(set(noisy[0])) > 3


def test_best_is_never_worst_however_noisy():
    picks = [judge(Judge(1, ROUND), {"beta": 0.0, "equal": 9.0, "mistake": 0.5}, seed) for seed in range(200)]
    assert all(p.best != p.worst for p in picks)
