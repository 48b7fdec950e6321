"""Whether an error means that memory did not suffice."""

from __future__ import annotations

import torch

MESSAGES = ("allocate memory", "Failed to allocate", "out of memory", "ALLOC_FAILED", "MemoryError")
"""Parts of error messages of PyTorch on the CPU, Warp, CUDA and CUDA's libraries, whose errors have no type of their
own, and of engines behind the bridge, whose errors arrive as text."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether this error says that memory, a GPU's or the machine's, did not suffice."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(message in str(error) for message in MESSAGES)
