"""Selection of queries, each against a small case worked by hand."""

import math

import pytest
import torch

from trainer.preferences.algorithms import SELECTIONS
from trainer.preferences.queries import (
    choose_farthest,
    choose_pairs,
    compute_member_probabilities,
    disagreement,
    draw_new_pairs,
    draw_pairs,
    entropy,
)

NOTHING = torch.zeros(0, 1)


def test_pairs_are_of_two_different_segments_and_every_pair_is_drawn():
    pairs = draw_pairs(3, 600, torch.Generator().manual_seed(0))
    drawn = {tuple(pair) for pair in pairs.tolist()}
    assert drawn == {(a, b) for a in range(3) for b in range(3) if a != b}
    assert draw_pairs(2, 1, torch.Generator().manual_seed(0)).sum() == 1


def test_no_pair_is_drawn_twice_in_whichever_order_nor_one_that_is_known():
    known = {frozenset((0, 1)), frozenset((2, 4))}
    for segments, count, drawn in ((200, 300, 300), (200, 9000, 9000), (5, 4, 4), (5, 70, 8), (2, 1, 0)):
        pairs = draw_new_pairs(segments, count, torch.Generator().manual_seed(0), known)
        found = {frozenset(pair) for pair in pairs.tolist()}
        assert len(found) == len(pairs) == drawn and not found & known, (segments, count)
        assert all(len(pair) == 2 and max(pair) < segments for pair in found)


def test_pairs_are_those_of_any_draw_where_none_comes_twice():
    pairs = draw_new_pairs(10_000, 7, torch.Generator().manual_seed(1))
    assert torch.equal(pairs, draw_pairs(10_000, 7, torch.Generator().manual_seed(1)))


def test_a_member_expects_what_its_summed_rewards_say():
    returns = torch.tensor([[1.0, 1.0, 0.0], [0.0, 2.0, 0.0]])
    found = compute_member_probabilities(returns, torch.tensor([[0, 1], [1, 2]]))
    sigmoid = lambda x: 1 / (1 + math.exp(-x))  # noqa: E731
    assert found.flatten().tolist() == pytest.approx([0.5, sigmoid(1), sigmoid(-2), sigmoid(2)])


P = torch.tensor([[0.5, 0.9, 1.0, 0.6], [0.5, 0.1, 1.0, 0.6], [0.5, 0.5, 1.0, 0.9]])
"""Three members on four candidates: all undecided; of three minds; all sure; two undecided, one rather sure."""


def test_disagreement_is_the_deviation_of_the_members():
    assert disagreement(P).tolist() == pytest.approx([0.0, 0.4, 0.0, math.sqrt(0.03)])


def test_entropy_is_the_members_mean():
    bits = lambda p: -(p * math.log(p) + (1 - p) * math.log(1 - p))  # noqa: E731
    wanted = [math.log(2), (2 * bits(0.1) + bits(0.5)) / 3, 0.0, (2 * bits(0.6) + bits(0.9)) / 3]
    assert entropy(P).tolist() == pytest.approx(wanted)


def test_each_way_takes_its_own():
    points = torch.tensor([[0.0], [1.0], [10.0], [4.0]])
    chosen = {way: choose_pairs(way, P, points, NOTHING, 2) for way in SELECTIONS[1:]}
    assert chosen == {
        "disagreement": [1, 3],
        "entropy": [0, 3],
        "k-center": [0, 2],  # nothing asked: the first, then the farthest from it
        "disagreement+k-center": [1, 3],
        "entropy+k-center": [0, 3],
    }


def test_the_mixed_ways_take_the_most_spread_of_the_better_half():
    probabilities = torch.tensor([[0.9, 0.8, 0.7, 0.6, 0.5, 0.5, 0.5, 0.5], [0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.5, 0.5]])
    points = torch.tensor([[0.0], [1.0], [5.0], [0.5], [90.0], [80.0], [70.0], [60.0]])
    asked = torch.tensor([[0.0]])
    assert choose_pairs("disagreement", probabilities, points, asked, 2) == [0, 1]
    assert choose_pairs("disagreement+k-center", probabilities, points, asked, 2) == [2, 1]
    assert choose_pairs("k-center", probabilities, points, asked, 2) == [4, 7]
    assert choose_pairs("entropy+k-center", probabilities, points, asked, 2) == [4, 7]


def test_k_center_keeps_away_from_what_was_asked_and_from_itself():
    points = torch.tensor([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0], [6.0, 8.1]])
    assert choose_farthest(points, torch.tensor([[6.0, 8.0]]), 3) == [0, 1, 3]
    assert choose_farthest(points, torch.zeros(0, 2), 9) == [0, 3, 1, 2]
    assert sorted(choose_farthest(torch.zeros(5, 2), torch.zeros(1, 2), 4)) == [0, 1, 2, 3]
    many = torch.cat((torch.full((300, 2), 99.0), torch.tensor([[0.0, 0.0]])))
    assert choose_farthest(points, many, 1) == [3], "of all parts of what was asked: the nearest counts"
