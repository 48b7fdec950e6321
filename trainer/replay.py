"""Rows of experience of K candidates, packed so that a minibatch is one indexing operation."""

from __future__ import annotations

import torch
from torch import Tensor


def select(packed: Tensor, indices: Tensor) -> Tensor:
    """The rows `indices` (K or 1, B) of packed (K, N, F), as (K, B, F); 1: the same rows of every candidate."""
    if len(indices) == 1:
        return packed.index_select(1, indices[0])
    first = torch.arange(len(packed), device=packed.device).unsqueeze(1) * packed.shape[1]
    rows = packed.flatten(0, 1).index_select(0, (first + indices).flatten())
    return rows.view(len(packed), -1, packed.shape[2])
