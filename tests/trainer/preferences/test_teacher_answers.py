"""The teacher on segments: B-Pref's order, and thresholds that are multiplied by the mean once."""

import random

import torch

from teachers.noisy import Teacher
from trainer.preferences.segments import Segments
from trainer.preferences.teacher_answers import answer_pairs


def of(*truths):
    """Segments of these steps, right-aligned."""
    longest = max(map(len, truths))
    rows = [[0.0] * (longest - len(row)) + list(row) for row in truths]
    valid = [[False] * (longest - len(row)) + [True] * len(row) for row in truths]
    inputs = torch.zeros(len(rows), longest, 1)
    return Segments(inputs, torch.tensor(valid), torch.tensor(rows), inputs[..., :0], inputs[:, 0, 0])


def ask(segments, mean_step=1.0, pairs=((0, 1),), **noise):
    return answer_pairs(segments, pairs, Teacher(**noise), mean_step, random.Random(0))


def test_it_compares_sums_of_segments_of_any_length():
    segments = of([1.0, 1.0, 1.0], [2.5], [3.0])
    assert ask(segments, pairs=((0, 1), (1, 0), (0, 2), (2, 1))) == ["first", "second", "equal", "first"]


def test_thresholds_are_shares_of_the_recent_mean_over_the_pairs_length_and_multiplied_once():
    """A step is worth 2 on average, a pair of 4 and 2 steps 6: a tenth is 0.6, and a tenth of a tenth 0.06."""
    near = of([1.0] * 4, [1.75, 1.75])  # 4 and 3.5
    far = of([1.0] * 4, [1.65, 1.65])  # 4 and 3.3
    assert (ask(near, 2.0, equal=0.1), ask(far, 2.0, equal=0.1)) == (["equal"], ["first"])
    poor, better = of([0.1] * 4, [0.25, 0.25]), of([0.1] * 4, [0.35, 0.35])  # 0.4 and 0.5; 0.4 and 0.7
    assert (ask(poor, 2.0, skip=0.1), ask(better, 2.0, skip=0.1)) == (["skip"], ["second"])


def test_thresholds_of_negative_means_and_of_none():
    """At -2 a step, a pair of 3 steps is worth -6 on average: skipped is what is below -3."""
    assert ask(of([-2.0] * 3, [-1.2] * 3), -2.0, skip=0.5) == ["skip"]
    assert ask(of([-2.0] * 3, [-0.9] * 3), -2.0, skip=0.5) == ["second"]
    assert ask(of([-2.0] * 3, [-1.95] * 3), -2.0, equal=0.1) == ["equal"]
    assert ask(of([0.1], [0.2]), 0.0, skip=0.5, equal=0.5) == ["second"], "no episode has ended: no threshold"


def test_skip_comes_before_equal_and_both_before_myopia():
    both = of([0.1, 0.1], [0.1, 0.1])
    assert ask(both, skip=0.5, equal=0.5) == ["skip"]
    # plain sums 3 and 3.2 are equal at a tenth of the mean of 4; myopia of 0.1 sees 0.3 and 3.02
    myopic = of([3.0, 0.0], [0.2, 3.0])
    assert ask(myopic, 2.0, gamma=0.1, equal=0.1) == ["equal"]
    assert ask(of([3.0, 0.0], [0.2, 1.0]), gamma=0.1) == ["second"], "a later 1 weighs more than an earlier 3"


def test_mistakes_turn_decided_answers_round_and_no_others():
    segments = of([2.0], [1.0], [2.0], [0.1])
    pairs = ((0, 1), (1, 0), (0, 2), (3, 3))
    assert ask(segments, pairs=pairs, mistake=1.0, skip=0.5) == ["second", "first", "equal", "skip"]


def test_a_rational_teacher_of_beta_one_errs_by_the_sums():
    """Sums 1 apart: P = 1 / (1 + e^-1) = 0.731."""
    segments = of([2.0, 1.0], [1.0, 1.0])
    answers = answer_pairs(segments, [(0, 1)] * 4000, Teacher(beta=1.0), 1.0, random.Random(1))
    assert abs(answers.count("first") / 4000 - 0.731) < 0.02
