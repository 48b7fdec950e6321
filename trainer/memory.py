"""What to do when memory does not suffice: less at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch

Result = TypeVar("Result")


def is_exhausted(error: BaseException) -> bool:
    """Whether this error says that memory, a GPU's or the machine's, did not suffice."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and "allocate memory" in str(error)  # PyTorch on the CPU


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
            exhausted = error.with_traceback(None)  # which would keep the tensors alive
        torch.cuda.empty_cache()
        if not halve():
            raise exhausted
