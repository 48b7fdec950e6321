"""Work in smaller parts where memory does not suffice."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TypeVar

import torch

from simulation.out_of_memory import is_out_of_memory
from trainer.log_lines import say

Result = TypeVar("Result")

MOST_PARTS = 64
"""Work that does not fit in this many parts would not fit in more."""


def retry_halved(work: Callable[[], Result], halve: Callable[[], bool]) -> Result:
    """The result of `work`, tried again after each `halve` while memory does not suffice.

    `halve` makes the work smaller and returns whether it could. Raises the last error when it could not.
    """
    while True:
        try:
            return work()
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            # its frames, and those of what it was raised from, keep every tensor alive that the work had by then
            exhausted = error.with_traceback(None)
            exhausted.__cause__ = exhausted.__context__ = None
        gc.collect()
        torch.cuda.empty_cache()
        if not halve():
            raise exhausted


class Parts:
    """The number of parts in which a batch is worked through: doubled each time that memory does not suffice."""

    def __init__(self, what: str) -> None:
        """`what`: the name of the work, for the log."""
        self.count = 1
        self._what = what

    def work(self, work: Callable[[int], Result]) -> Result:
        """The result of `work(parts)`, tried with more parts up to MOST_PARTS. Raises the last error beyond that."""
        return retry_halved(lambda: work(self.count), self._double)

    def _double(self) -> bool:
        if self.count >= MOST_PARTS:
            return False
        self.count *= 2
        say(f"{self._what} does not fit into memory: going on in {self.count} parts")
        return True
