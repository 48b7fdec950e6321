"""What the reward model of before makes of answers that it has not seen: figures of a session."""

from __future__ import annotations

import torch
from torch import Tensor

from trainer.preferences.queries import compute_member_probabilities, disagreement
from trainer.preferences.reward_model import find_right_answers
from trainer.preferences.segments import Segments


def measure_before(
    returns: Tensor | None, segments: Segments, pairs: Tensor, kept: Tensor, given: Tensor
) -> dict[str, float | None]:
    """What the model of before makes of new answers `given` (n, 2) about the pairs `kept` (n, 2)."""
    names = ("accuracy_before", "correlation_before", "disagreement")
    if returns is None:
        return dict.fromkeys(names)
    decided = int((given[:, 0] != given[:, 1]).sum())
    right = int(find_right_answers(returns[:, kept], given.expand(len(returns), -1, -1)).sum())
    shown = torch.unique(pairs).to(returns.device)
    both = torch.stack((returns.mean(0)[shown], segments.truths.sum(1)[shown]))
    correlation = float(torch.corrcoef(both)[0, 1]) if len(shown) > 2 else float("nan")
    spread = float(disagreement(compute_member_probabilities(returns, pairs.to(returns.device))).mean())
    known = (right / (len(returns) * decided) if decided else None, correlation, spread)
    return dict(zip(names, (None if value != value else value for value in known), strict=True))
