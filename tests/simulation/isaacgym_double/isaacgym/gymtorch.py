"""Tensors of the double, which are PyTorch's own; a descriptor is one with a name."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Descriptor:
    """What the real package hands out in place of a tensor."""

    tensor: torch.Tensor


def wrap_tensor(descriptor: Descriptor) -> torch.Tensor:
    """A tensor that shares the simulation's memory."""
    return descriptor.tensor


def unwrap_tensor(tensor: torch.Tensor) -> Descriptor:
    """Refuses what the simulation could not read."""
    if not tensor.is_contiguous():
        raise RuntimeError("Input tensor must be contiguous")
    return Descriptor(tensor)
