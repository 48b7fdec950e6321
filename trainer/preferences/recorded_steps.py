"""What a horizon says of the recorded worlds' steps beside their inputs: the reservoir of segments keeps it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from trainer.collect import Horizon


def read_steps(horizon: Horizon, groups: Sequence[int], truths: Sequence[str], worlds: int) -> dict[str, Tensor]:
    """What SegmentReservoir.add takes of the first worlds of these candidates, which are judged by `truths`, one of
    algorithms.TRUTHS each: (R, T, W), and poses with one dimension more.
    """
    experience = horizon.experience
    metric, known = (tensor[groups, :, :worlds] for tensor in (horizon.step_metric, horizon.step_counts))
    by_metric = torch.tensor([truth == "metric" for truth in truths], device=metric.device).view(-1, 1, 1)
    steps = {
        "truths": torch.where(by_metric, metric, experience.rewards[groups, :, :worlds]),
        "counts": known | ~by_metric,
        "ended": (experience.terminated | experience.truncated)[groups, :, :worlds],
        "metrics": torch.where(known, metric, torch.nan),
    }
    return steps | ({"poses": horizon.poses[groups]} if horizon.poses.shape[2] else {})
