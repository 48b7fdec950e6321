"""What the reward model of before makes of answers that it has not seen: figures of a session."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from trainer.preferences.queries import compute_member_probabilities, disagreement
from trainer.preferences.reward_model import find_right_answers
from trainer.preferences.segments import Segments

MOST_POINTS = 50
"""Segments of a session whose sums are kept."""


def measure_before(
    returns: Tensor | None, segments: Segments, pairs: Tensor, kept: Tensor, given: Tensor
) -> dict[str, Any]:
    """What the model of before, if there is one, makes of new answers `given` (n, 2) about the pairs `kept` (n, 2)."""
    names = ("accuracy_before", "correlation_before", "disagreement")
    if returns is None:
        return {**dict.fromkeys(names), "points": ()}
    shown = torch.unique(pairs).to(returns.device)
    both = torch.stack((returns.mean(0)[shown], segments.truths.sum(1)[shown]))
    correlation = float(torch.corrcoef(both)[0, 1]) if len(shown) > 2 else float("nan")
    spread = float(disagreement(compute_member_probabilities(returns, pairs.to(returns.device))).mean())
    known = (measure_accuracy(returns, kept, given), correlation, spread)
    figures = dict(zip(names, (None if value != value else value for value in known), strict=True))
    return {**figures, **pick_points(both, segments.metrics[shown])}


def measure_accuracy(returns: Tensor, pairs: Tensor, given: Tensor) -> float | None:
    """Share of the decided answers `given` (n, 2) about pairs (n, 2) that members get right by these sums (E, S), on
    average; None where no answer is decided.
    """
    decided = int((given[:, 0] != given[:, 1]).sum())
    right = int(find_right_answers(returns[:, pairs], given.expand(len(returns), -1, -1)).sum())
    return right / (len(returns) * decided) if decided else None


def pick_points(both: Tensor, metrics: Tensor) -> dict[str, Any]:
    """Up to MOST_POINTS of all segments, evenly spaced: their learned and true sums, from both (2, S), and those of the
    metric (S,).
    """
    chosen = torch.linspace(0, both.shape[1] - 1, min(MOST_POINTS, both.shape[1])).long()
    points = tuple((_shorten(learned), _shorten(true)) for learned, true in both[:, chosen].T.tolist())
    known = tuple(None if value != value else _shorten(value) for value in metrics[chosen].tolist())
    return {"points": points, "metrics": known if any(value is not None for value in known) else ()}


def _shorten(value: float) -> float:
    return float(f"{value:.5g}")
