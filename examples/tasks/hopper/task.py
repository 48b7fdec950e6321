"""Hopper's hidden half: when an episode ends, and what counts."""

from typing import Any

import torch


def terminated(env: Any) -> torch.Tensor:
    """It fell: the trunk is low or leans far, (n,) bool."""
    return (env.trunk_height < 0.7) | (env.trunk_pitch.abs() > 1.0)


def metric(env: Any, ended: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Forward speed in m/s (n,), which counts in every step."""
    return env.velocity[:, 0], torch.ones_like(ended)
