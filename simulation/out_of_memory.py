"""How an error says that memory did not suffice."""

from __future__ import annotations

import torch

SAYINGS = ("allocate memory", "Failed to allocate", "out of memory", "ALLOC_FAILED", "MemoryError")
"""Of PyTorch on the CPU, Warp, CUDA, and CUDA's libraries, whose errors have no type of their own, and of what an
engine behind the bridge met, whose type is but named.
"""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether this error says that memory, a GPU's or the machine's, did not suffice."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(saying in str(error) for saying in SAYINGS)
