"""How often a reward model is right on answers that are kept from it: a figure of a session.

A simulated teacher answers pairs that are drawn at random from the segments which could be asked about. They are no
queries, and no row learns from them, so the figure costs none of the answers and changes nothing. New answers of a
session say less: they are few, and about the pairs that the model was least sure of.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from trainer.preferences.labels import Labels, find_learned_pairs
from trainer.preferences.new_answers import measure_accuracy
from trainer.preferences.queries import draw_pairs
from trainer.preferences.reward_model import RewardModel
from trainer.preferences.segments import Segments
from trainer.preferences.teacher_answers import make_targets

PAIRS = 200
"""Of a session; fewer where some of them were learned from."""


def measure_held_out(
    model: RewardModel,
    row: int,
    pool: Segments,
    labels: Labels,
    answer: Callable[[Segments, Tensor, int], list[str]],
    seed: int,
) -> float | None:
    """Share of the decided held-out answers about a row's `pool` that its members get right, on average. `labels`:
    what it has learned from; `seed`: of the pairs, and of the errors of those who `answer`.
    """
    drawn = draw_pairs(len(pool), PAIRS, torch.Generator().manual_seed(seed))
    used, places = torch.unique(drop_learned(pool, drawn, labels), return_inverse=True)
    if not len(used):
        return None
    segments, pairs = pool.choose(used.to(pool.valid.device)), places.view(-1, 2)
    answered, given = make_targets(answer(segments, pairs, seed), pool.inputs.device)
    returns = model.member_returns(row, segments.inputs, segments.valid)
    return measure_accuracy(returns, pairs[answered].to(returns.device), given)


def drop_learned(pool: Segments, pairs: Tensor, labels: Labels) -> Tensor:
    """The pairs that are no label."""
    learned = find_learned_pairs(pool, labels)
    new = [frozenset(pair) not in learned for pair in pairs.tolist()]
    return pairs[torch.tensor(new, dtype=torch.bool)]
