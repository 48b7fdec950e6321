"""A simulated teacher answers pairs of segments (B-Pref, section 3.2), in the order skip, equal, myopia, Bradley-Terry,
mistake. How it errs: teachers/noisy.py.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from teachers.noisy import Teacher, compare
from trainer.preferences.algorithms import Preferences
from trainer.preferences.labels import Labels
from trainer.preferences.segments import Segments

TARGETS = {"first": (1.0, 0.0), "second": (0.0, 1.0), "equal": (0.5, 0.5)}
"""What a reward model learns from an answer; nothing from one that was skipped."""


def make_targets(answers: Sequence[str], device: torch.device | str) -> tuple[list[int], Tensor]:
    """The indices of the n answers that are no skips, and what a reward model learns from them (n, 2)."""
    answered = [index for index, answer in enumerate(answers) if answer != "skip"]
    return answered, torch.tensor([TARGETS[answers[index]] for index in answered], device=device).view(-1, 2)


def make_empty_labels(steps: int, inputs: int, device: torch.device | str) -> Labels:
    """No labels yet, of segments with this many steps and inputs."""
    return Labels(
        torch.zeros(0, 2, steps, inputs, device=device),
        torch.zeros(0, 2, steps, dtype=torch.bool, device=device),
        torch.zeros(0, 2, device=device),
    )


def ask_teacher(segments: Segments, pairs: Tensor, wanted: Preferences, mean_step: float, seed: int) -> list[str]:
    """`answer_pairs` by a teacher that errs as these preferences say; `seed`: of its errors."""
    noise = Teacher(wanted.beta, wanted.gamma, wanted.mistake, wanted.skip, wanted.equal)
    return answer_pairs(segments, pairs.tolist(), noise, mean_step, random.Random(seed))


def answer_pairs(
    segments: Segments, pairs: Sequence[tuple[int, int]], noise: Teacher, mean_step: float, rng: random.Random
) -> list[str]:
    """first, second, equal or skip for each pair of indices of segments.

    Thresholds of `noise` are shares of what a segment of the pair's mean length is worth by `mean_step`, the mean worth
    of a step in recent episodes. They are multiplied by it here, once. Utilities are plain sums, as in B-Pref: beta is
    per unit of reward.
    """
    steps = segments.valid.sum(1).tolist()
    plain = segments.truths.double().sum(1).tolist()
    seen = _sum_discounted(segments.truths.double(), noise.gamma).tolist()
    answers = []
    for first, second in pairs:
        mean = mean_step * (steps[first] + steps[second]) / 2
        teacher = replace(noise, skip=noise.skip * abs(mean), equal=noise.equal * abs(mean))
        sums = (plain[first], plain[second])
        answers.append(compare(seen[first], seen[second], teacher, rng, sums, mean))
    return answers


def _sum_discounted(truths: Tensor, gamma: float) -> Tensor:
    """sum_t gamma^(L-t) r_t of steps t = 1..L (S, L): a myopic teacher remembers the end best (B-Pref, section 3.2)."""
    steps = truths.shape[1]
    weights = gamma ** torch.arange(steps - 1, -1, -1, dtype=truths.dtype, device=truths.device)
    return truths @ weights
