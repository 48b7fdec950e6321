"""Which pairs of segments to ask about (B-Pref, section 4; PEBBLE, section 4.2; Lee et al. 2021).

No pair is asked twice: none twice in a session, in whichever order, nor one that has an answer. The first session takes
pairs at random. Later ones draw CANDIDATES times as many at random and take

- disagreement: those whose answer the members predict with the largest standard deviation;
- entropy: those whose answer the members, on average, are least sure of;
- k-center: those that lie farthest apart from each other and from what has been asked, taken one by one;
- disagreement+k-center, entropy+k-center: these, out of the first half by disagreement or entropy.

Shapes: N candidates, E members, S segments, D numbers that describe a pair.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import torch
from torch import Tensor

CANDIDATES = 10
"""For each pair that is asked."""
HALF = 2
"""The mixed ways choose among the first 1 / HALF of the candidates."""


@dataclass(frozen=True)
class Query:
    """What a row is asked in one session."""

    session: int
    """The session's number, counted from 1."""
    places: list[int]
    """The places of the segments in the row's reservoir."""
    pairs: Tensor
    """(N, 2) indices of `places`."""


def draw_pairs(segments: int, count: int, generator: torch.Generator) -> Tensor:
    """Pairs (count, 2) of two different segments each, drawn at random from `segments` of them, at least two."""
    first = torch.randint(segments, (count,), generator=generator)
    second = torch.randint(segments - 1, (count,), generator=generator)
    return torch.stack((first, second + (second >= first)), dim=1)


def draw_new_pairs(
    segments: int, count: int, generator: torch.Generator, known: Collection[frozenset[int]] = ()
) -> Tensor:
    """As `draw_pairs`, but no pair twice, in whichever order, and none of those that are `known`: fewer than `count`
    where there are no more.
    """
    if 2 * (count + len(known)) > segments * (segments - 1) // 2:
        every = torch.combinations(torch.arange(segments))
        new = torch.tensor([frozenset(pair) not in known for pair in every.tolist()], dtype=torch.bool)
        return every[new][torch.randperm(int(new.sum()), generator=generator)[:count]]
    found: dict[frozenset[int], list[int]] = {}
    while len(found) < count:
        for pair in draw_pairs(segments, count - len(found), generator).tolist():
            if frozenset(pair) not in known:
                found.setdefault(frozenset(pair), pair)
    return torch.tensor(list(found.values()))


def compute_member_probabilities(returns: Tensor, pairs: Tensor) -> Tensor:
    """Each member's P(first > second), (E, N), from its summed rewards (E, S) of the segments; pairs (N, 2)."""
    return torch.sigmoid(returns[:, pairs[:, 0]] - returns[:, pairs[:, 1]])


def disagreement(probabilities: Tensor) -> Tensor:
    """Standard deviation (N,) of the members' P (E, N)."""
    return probabilities.std(0)


def entropy(probabilities: Tensor) -> Tensor:
    """The members' mean entropy (N,) of the answer, in nats, from P (E, N)."""
    both = torch.stack((probabilities, 1 - probabilities))
    return -torch.xlogy(both, both).sum(0).mean(0)


def choose_farthest(points: Tensor, asked: Tensor, count: int) -> list[int]:
    """The indices of `count` of N points (N, D), each in turn the farthest from `asked` (M, D) and those taken before.

    The greedy solution of the k-center problem (Sener and Savarese, 2018, algorithm 1). Where nothing has been asked
    the first point is the first taken. Of equally far ones the first is taken.
    """
    if len(asked):
        distances = torch.stack([torch.cdist(points, part).amin(1) for part in torch.split(asked, 256)]).amin(0)
    else:
        distances = torch.full((len(points),), torch.inf, device=points.device)
    chosen: list[int] = []
    for _ in range(min(count, len(points))):
        chosen.append(int(distances.argmax()))
        reached = torch.linalg.vector_norm(points - points[chosen[-1]], dim=1)
        distances = torch.minimum(distances, reached)
        distances[chosen] = -1.0
    return chosen


def choose_pairs(selection: str, probabilities: Tensor, points: Tensor, asked: Tensor, count: int) -> list[int]:
    """The indices of `count` candidates to ask, by a selection other than uniform, the most wanted first.

    `probabilities`: the members' P (E, N); `points` (N, D) and `asked` (M, D): the steps of both segments of each
    candidate, and of each pair that was asked before.
    """
    by, _, mixed = selection.partition("+")
    if by == "k-center":
        return choose_farthest(points, asked, count)
    scores = {"disagreement": disagreement, "entropy": entropy}[by](probabilities)
    ranked = scores.argsort(descending=True, stable=True)
    if not mixed:
        return ranked[:count].tolist()
    half = ranked[: max(count, len(ranked) // HALF)]
    return half[choose_farthest(points[half], asked, count)].tolist()
