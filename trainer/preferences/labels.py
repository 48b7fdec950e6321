"""What reward models learn from: labels, unlabelled pairs, the pairs of a minibatch, and crops of segments.

Shapes: R rows, N labels, B labels of a minibatch, L steps of a segment, F inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.preferences.segments import Segments

CROPS = (45 / 60, 55 / 60)
"""Shares of a segment's steps that a crop has, least and most (the same)."""
LABELLED_CROPS = (35 / 50, 45 / 50)
"""The same of QPA's crops of labelled pairs: 15 to 5 of 50 steps are left out (the authors' code)."""


@dataclass(frozen=True)
class Labels:
    """What one row learns from: N pairs of segments and the answers."""

    inputs: Tensor
    """(N, 2, L, F): observations and actions of both segments; zeros where a segment has no step."""
    valid: Tensor
    """(N, 2, L) bool: the steps that a segment has."""
    targets: Tensor
    """(N, 2): (1, 0) where the first is preferred, (0, 1) the second, (0.5, 0.5) where they are equal."""

    def __len__(self) -> int:
        return len(self.targets)

    def extend(self, inputs: Tensor, valid: Tensor, targets: Tensor) -> Labels:
        """The labels with these added."""
        both = ((self.inputs, inputs), (self.valid, valid), (self.targets, targets))
        return Labels(*(torch.cat(pair) for pair in both))


@dataclass(frozen=True)
class Unlabelled:
    """What one row learns from besides: pairs of segments without answers."""

    inputs: Tensor
    """(S, L, F), as in Labels."""
    valid: Tensor
    """(S, L) bool."""
    pairs: Tensor
    """(U, 2) indices of segments."""
    crops: bool
    """Whether segments are cropped, those with answers too."""


@dataclass(frozen=True)
class Batch:
    """What every member takes in one step: B pairs each."""

    inputs: Tensor
    """(3 R, B, 2, L, F)."""
    valid: Tensor
    """(3 R, C B, 2, L) bool: the steps that count in each of C crops of the B pairs; C = 1 is the pairs themselves."""
    targets: Tensor
    """(3 R, C B, 2)."""
    weights: Tensor
    """(3 R, C B): of each one's loss."""

    def split(self, member: int, pairs: int) -> Iterator[Batch]:
        """What one member takes, in parts of so many pairs with all of their crops."""
        one, count = slice(member, member + 1), self.inputs.shape[1]
        by_crop = [v[one].view(1, -1, count, *v.shape[2:]) for v in (self.valid, self.targets, self.weights)]
        for begin in range(0, count, pairs):
            part = slice(begin, begin + pairs)
            yield Batch(self.inputs[one, part], *(values[:, :, part].flatten(1, 2) for values in by_crop))


def find_learned_pairs(pool: Segments, labels: Labels) -> set[frozenset[int]]:
    """The pairs of segments of a row's pool, by their indices, that it has answers about. A segment is known by its
    last step.
    """
    places = {step.tobytes(): place for place, step in enumerate(pool.inputs[:, -1].cpu().numpy())}
    ends = labels.inputs[:, :, -1].cpu().numpy()
    found = (frozenset(places.get(step.tobytes(), -1) for step in both) for both in ends)
    return {pair for pair in found if -1 not in pair}


def crop_pairs(valid: Tensor, stream: torch.Generator, shares: tuple[float, float]) -> Tensor:
    """The steps (B, 2, L) bool that are left of pairs: of both segments equally many in a row, between two shares of
    all, from different beginnings (SURF, algorithm 1; QPA does the same). A pair with a shorter segment, whose length
    says something, stays as it is.
    """
    count, _, steps = valid.shape
    least, most = (round(share * steps) for share in shares)
    lengths = torch.randint(least, most + 1, (count, 1, 1), generator=stream)
    begins = (torch.rand(count, 2, 1, generator=stream) * (steps - lengths + 1)).long()
    at = torch.arange(steps)
    inside = ((at >= begins) & (at < begins + lengths)).to(valid.device)
    whole = valid.all(-1).all(-1).view(-1, 1, 1)
    return torch.where(whole, inside, valid)


def pick_labels(labels: Sequence[Labels], picked: Sequence[Sequence[Tensor]]) -> Batch:
    """The labels that each member of each row takes in one step."""
    inputs, valid, targets = (
        torch.stack([getattr(of_row, name)[index] for of_row, p in zip(labels, picked, strict=True) for index in p])
        for name in ("inputs", "valid", "targets")
    )
    return Batch(inputs, valid, targets, torch.full_like(targets[..., 0], 1 / targets.shape[1]))
