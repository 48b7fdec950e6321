"""What to do when memory does not suffice: less at a time."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TypeVar

import torch

Result = TypeVar("Result")

SAYINGS = ("allocate memory", "Failed to allocate", "out of memory", "ALLOC_FAILED")
"""Of PyTorch on the CPU, Warp, CUDA, and CUDA's libraries, whose errors have no type of their own."""


def is_exhausted(error: BaseException) -> bool:
    """Whether this error says that memory, a GPU's or the machine's, did not suffice."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(saying in str(error) for saying in SAYINGS)


def halving(work: Callable[[], Result], halve: Callable[[], bool]) -> Result:
    """The result of `work`, tried again after each `halve` while memory does not suffice.

    `halve` makes the work smaller and returns whether it could. Raises the last error when it could not.
    """
    while True:
        try:
            return work()
        except (RuntimeError, MemoryError) as error:
            if not is_exhausted(error):
                raise
            # anew: this one, and what it was raised from, keep every tensor alive that the work had by then
            exhausted = type(error)(str(error))
        gc.collect()
        torch.cuda.empty_cache()
        if not halve():
            raise exhausted
