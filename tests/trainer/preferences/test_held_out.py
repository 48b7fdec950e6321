"""Answers that are kept from a reward model: which pairs they are about, and what share is right."""

import pytest
import torch

from trainer.preferences import held_out
from trainer.preferences.held_out import drop_learned, measure_held_out
from trainer.preferences.labels import Labels
from trainer.preferences.segments import Segments


def segments(count):
    numbers = torch.arange(1.0, count + 1).view(-1, 1, 1)
    valid = torch.ones(count, 1, dtype=torch.bool)
    return Segments(numbers, valid, numbers[..., 0], numbers[..., :0], torch.full((count,), torch.nan))


def labels(pool, *pairs):
    chosen = torch.tensor(pairs, dtype=torch.int64).view(-1, 2)
    return Labels(pool.inputs[chosen], pool.valid[chosen], torch.full(chosen.shape, 0.5))


class Model:
    """Two members: one values a segment as the teacher does, the other the opposite."""

    def member_returns(self, row, inputs, valid):
        sums = inputs.sum((1, 2))
        return torch.stack((sums, -sums))


def higher(shown, pairs):
    worth = shown.truths.sum(1)
    return ["first" if worth[one] > worth[other] else "second" for one, other in pairs.tolist()]


def test_pairs_that_were_learned_from_are_left_out_in_either_order():
    pool = segments(4)
    drawn = torch.tensor([[0, 1], [1, 0], [2, 3], [0, 3]])
    assert drop_learned(pool, drawn, labels(pool, (1, 0), (3, 2))).tolist() == [[0, 3]]
    assert drop_learned(pool, drawn, labels(pool)).tolist() == drawn.tolist()


def test_the_share_is_the_mean_of_the_members_over_decided_answers():
    pool, asked = segments(9), []

    def answer(shown, pairs, seed):
        asked.append(pairs)
        given = higher(shown, pairs)
        return ["skip", "equal", *given[2:]]

    assert measure_held_out(Model(), 0, pool, labels(pool), answer, 5) == 0.5
    assert measure_held_out(Model(), 0, pool, labels(pool), lambda shown, pairs, seed: ["skip"] * len(pairs), 5) is None
    assert len(asked[0]) == held_out.PAIRS and asked[0].max() < 9


def test_nothing_is_said_where_every_pair_was_learned_from():
    pool = segments(2)
    never = pytest.fail
    assert measure_held_out(Model(), 0, pool, labels(pool, (0, 1)), never, 1) is None
