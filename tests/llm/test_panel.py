"""Expected values by hand: with two players the strengths' difference is the log of the odds."""

import math
import random
import statistics

import pytest

from llm.judges.panel import (
    Comparison,
    bradley_terry,
    compute_independence,
    count_tags,
    format_tags,
    list_comparisons,
    pool_picks,
    read_comparison,
    score_best_worst,
)
from llm.records import Pick


def test_a_pick_that_names_nobody_is_a_tie_of_all_or_nothing():
    """Two players, one tie: equal strengths, and no pull of the drawn order. Nobody could judge: no comparison."""
    assert list_comparisons(Pick("a", "b", undecided="skip"), ["a", "b", "c"]) == []
    ties = list_comparisons(Pick("a", "c", undecided="equal"), ["a", "b", "c"])
    assert {(t.winner, t.loser, t.weight) for t in ties} == {(x, y, 0.5) for x in "abc" for y in "abc" if x != y}
    rated = bradley_terry([*games(("a", "b")), *ties], names=list("abc"))
    assert rated["a"].value > rated["c"].value > rated["b"].value, "c is drawn against both"


def games(*results):
    return [Comparison(*pair) for pair in results]


def test_two_players_without_prior_differ_by_the_log_odds():
    ratings = bradley_terry(games(*[("a", "b")] * 3, ("b", "a")), prior=0)
    assert ratings["a"].value == pytest.approx(math.log(3) / 2)
    assert ratings["b"].value == pytest.approx(-math.log(3) / 2)


def test_their_interval_is_the_textbooks():
    """Var(b_a - b_b) = 1 / (n p q) = 1 / (4 * 3/4 * 1/4) = 4/3; each strength is half of the difference."""
    rating = bradley_terry(games(*[("a", "b")] * 3, ("b", "a")), prior=0)["a"]
    assert rating.high - rating.value == pytest.approx(1.959964 * math.sqrt(4 / 3) / 2, rel=1e-6)
    assert rating.value - rating.low == pytest.approx(rating.high - rating.value)


def test_the_prior_keeps_a_player_who_always_wins_finite():
    """a beats b once, each draws once with strength 0: 0 = s(-2b) + 1/2 - s(b) for b_a = -b_b = b."""
    ratings = bradley_terry(games(("a", "b")))
    b = ratings["a"].value
    sigmoid = lambda x: 1 / (1 + math.exp(-x))  # noqa: E731
    assert sigmoid(-2 * b) + 0.5 - sigmoid(b) == pytest.approx(0, abs=1e-9)
    assert b > 0 and ratings["b"].value == pytest.approx(-b)


def test_without_prior_no_finite_estimate_is_an_error():
    with pytest.raises(ValueError, match="somebody always wins"):
        bradley_terry(games(("a", "b")), prior=0)


def test_published_example_of_three():
    """a-b 2:1, b-c 2:1, a-c 2:1: at the maximum each player's wins equal the expected number of wins."""
    ratings = bradley_terry(
        games(*[("a", "b")] * 2, ("b", "a"), *[("b", "c")] * 2, ("c", "b"), *[("a", "c")] * 2, ("c", "a")), prior=0
    )
    strength = {name: rating.value for name, rating in ratings.items()}
    wins = {"a": 4, "b": 3, "c": 2}
    for i, won in wins.items():
        expected = sum(3 / (1 + math.exp(strength[j] - strength[i])) for j in wins if j != i)
        assert expected == pytest.approx(won)
    assert sum(strength.values()) == pytest.approx(0)


def test_order_plays_no_part_and_a_draw_moves_nobody():
    seen = games(("a", "b"), ("b", "c"), ("a", "c"), ("d", "a"))
    assert bradley_terry(seen) == bradley_terry(seen[::-1])
    even = bradley_terry(read_comparison("a", "b", "equal"))
    assert even["a"].value == even["b"].value == 0


def test_who_was_never_compared_is_average_and_least_certain():
    ratings = bradley_terry(games(("a", "b")), names=["z"])
    assert ratings["z"].value == 0
    assert ratings["z"].high > ratings["a"].high - ratings["a"].value


def test_a_pick_of_k_is_2k_minus_3_comparisons():
    seen = list_comparisons(Pick("b", "d"), "abcd")
    assert [(c.winner, c.loser) for c in seen] == [("b", "a"), ("b", "c"), ("b", "d"), ("a", "d"), ("c", "d")]
    assert [(c.winner, c.loser) for c in list_comparisons(Pick("a", None), "a")] == []


def test_answers_to_a_comparison():
    assert read_comparison("a", "b", "second") == games(("b", "a"))
    assert read_comparison("a", "b", "skip") == []
    assert sum(c.weight for c in read_comparison("a", "b", "equal")) == 1


def test_best_worst_scores_by_hand():
    """a is best in 2 of 3, b in 1; c is worst in 3 of 3."""
    ratings = score_best_worst([(Pick("a", "c"), "abc"), (Pick("a", "c"), "abc"), (Pick("b", "c"), "abc")])
    assert {n: r.value for n, r in ratings.items()} == pytest.approx({"a": 2 / 3, "b": 1 / 3, "c": -1})
    half = 1.959964 * math.sqrt((2 / 3 - 4 / 9) / 3)
    assert ratings["a"].low == pytest.approx(2 / 3 - half, rel=1e-6) and ratings["a"].high == 1
    assert (ratings["c"].low, ratings["c"].high) == (-1, -1)


def test_intervals_of_a_panel_are_as_wide_as_its_strengths_scatter():
    """150 panels of 20 who each name best and worst of six by Luce's choice. With pairs taken as independent the errors
    would be 0.26 where strengths scatter by 0.40; with the origin's uncertainty 0.93, however many people there are.
    """
    rng = random.Random(0)
    utilities = {"a": 1.2, "b": 0.5, "c": 0.0, "d": -0.4, "e": -0.9, "f": -0.2}
    found = []
    for _ in range(150):
        seen = []
        for _ in range(20):
            liked = sorted(utilities, key=lambda name: math.log(rng.expovariate(1.0)) - utilities[name])
            seen += list_comparisons(Pick(liked[0], liked[-1]), "abcdef")
        found.append(bradley_terry(seen, names="abcdef"))
    scatter = statistics.mean(statistics.stdev(ratings[name].value for ratings in found) for name in utilities)
    widths = [rating.high - rating.value for ratings in found for rating in ratings.values()]
    assert statistics.mean(widths) / 1.959964 == pytest.approx(scatter, rel=0.15)


def test_what_a_pair_of_one_best_and_worst_is_worth_by_hand():
    """Of two it is a comparison like any. Of three: 2/3 - 1/12 = 7/12 of information against 3/4 of three pairs."""
    assert compute_independence(2) == 1.0
    assert compute_independence(3) == pytest.approx(7 / 9)
    assert compute_independence(6) == pytest.approx(0.363, abs=0.001)


def test_what_a_pair_of_a_best_alone_is_worth_by_hand():
    """A choice of one of K has 1/K of information about a contrast, its K - 1 pairs were they independent 1/2."""
    seen = list_comparisons(Pick("b", None), "abcdef")
    assert [(c.winner, c.loser, c.share) for c in seen] == [("b", loser, 2 / 6) for loser in "acdef"]
    assert [c.share for c in list_comparisons(Pick("a", None), "ab")] == [1.0]


@pytest.mark.slow
def test_intervals_of_bests_alone_are_as_wide_as_their_strengths_scatter():
    """200 panels of 80 who each name one of four equals. With what best and worst are worth they were 0.90 of it."""
    rng = random.Random(0)
    found = []
    for _ in range(200):
        seen = [c for name in rng.choices("abcd", k=80) for c in list_comparisons(Pick(name, None), "abcd")]
        found.append(bradley_terry(seen, names="abcd"))
    scatter = statistics.mean(statistics.stdev(ratings[name].value for ratings in found) for name in "abcd")
    widths = [rating.high - rating.value for ratings in found for rating in ratings.values()]
    assert statistics.mean(widths) / 1.959964 == pytest.approx(scatter, rel=0.06)


def test_a_panel_is_pooled_into_one_pick():
    picks = [
        (Pick("a", "c", "smooth", ("best: moves fast",)), "abcd"),
        (Pick("b", "c", "", ("best: moves fast", "worst: falls over")), "abcd"),
        (Pick("a", "d", "it limps "), "abcd"),
    ]
    assert pool_picks(picks) == Pick("a", "c", "smooth\nit limps", ("best: moves fast", "worst: falls over"))


def test_tags_stay_with_what_they_were_said_of_and_as_often_as_they_were_said():
    one = (Pick("a", "b", tags=("best: fast", "worst: shakes")), "abc")
    other = (Pick("c", "b", tags=("best: smooth", "best: natural", "worst: falls over")), "abc")
    another = (Pick("a", "c", tags=("worst: looks strange",)), "abc")
    pick = pool_picks([other, one, one, one, one, another])
    assert (pick.best, pick.worst) == ("a", "b")
    assert pick.tags == (*["best: fast"] * 4, *["worst: shakes"] * 4, "worst: falls over")
    assert format_tags(pick.tags) == "best: fast (4 people), worst: shakes (4 people), worst: falls over"
    assert format_tags(("worst: b", "best: a")) == "worst: b, best: a"


def test_the_commonest_tags_come_first():
    assert list(count_tags([("x", "y"), ("y",), ("z", "y"), ("z",)])) == ["y", "z", "x"]


def test_a_panel_without_picks_decides_nothing():
    with pytest.raises(ValueError, match="nobody"):
        pool_picks([])
