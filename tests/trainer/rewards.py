"""Reward functions for the tests."""

HEADER = """import torch
from typing import Dict, Tuple
from torch import Tensor


def compute_reward(dof_pos: Tensor, dof_vel: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
"""

UPRIGHT = (
    HEADER
    + """    upright = 1.0 - dof_pos[:, 1] * dof_pos[:, 1]
    return upright, {"upright": upright}
"""
)

STILL = (
    HEADER
    + """    still = torch.exp(-torch.abs(dof_vel[:, 1]))
    centred = 0.1 * torch.exp(-torch.abs(dof_pos[:, 0]))
    return still + centred, {"still": still, "centred": centred}
"""
)

FALLING = (
    HEADER
    + """    angle = torch.abs(dof_pos[:, 1])
    return angle, {"angle": angle}
"""
)

NAN_WHEN_LEANING = (
    HEADER
    + """    upright = torch.sqrt(0.8 - torch.abs(dof_pos[:, 1]))
    return upright, {"upright": upright}
"""
)

OVERFLOWING = (
    HEADER
    + """    large = 1.0e30 * (1.0 + dof_pos[:, 1])
    return large, {"large": large}
"""
)

CHANGING = (
    HEADER
    + """    upright = 1.0 - torch.abs(dof_pos[:, 1])
    if torch.mean(torch.abs(dof_pos[:, 1])) > 0.56:
        return upright, {"late": upright}
    return upright, {"early": upright}
"""
)

STUCK = (
    HEADER
    + """    upright = 1.0 - torch.abs(dof_pos[:, 1])
    if dof_pos.shape[0] > 96:
        whole = torch.ones(1024, 2048, dtype=torch.int64)
        for _ in range(5):
            upright = upright + (whole @ whole.T)[0, 0]
    return upright, {"upright": upright}
"""
)
"""A call of seconds, spent in C, where a dry run's samples do not lead."""
