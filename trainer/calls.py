"""Which candidate's reward a shard is calling: a mark in a file that both the shard and its coordinator have mapped.

The timer within a shard does not fire while one operation runs in C, and a shard that the kernel kills cannot say what
it was doing. The mark outlives it: the coordinator sees a call that does not end, and in whose call a shard crashed.
Imports neither torch nor mujoco.
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

FILE = "call"
BYTES = 8
CANDIDATES = 1 << 20
"""A mark is a call's number times this, plus 1 + the candidate's index while the call runs."""
MOST_SECONDS = 10.0
"""Processor time that a shard may use within one call: twice what the shard's own timer allows."""
MOST_WAITING = 120.0
"""Seconds of the wall clock that one call may take, for a call that waits: on a GPU, for memory."""
LONGEST_STEP = 1.0
"""Seconds counted between two looks at most: the machine, or the coordinator, may have been suspended."""


class CallMark:
    """The shard's side."""

    def __init__(self, folder: Path) -> None:
        with (folder / FILE).open("w+b") as file:
            file.write(bytes(BYTES))  # allocated now: on a full disk this fails, a later store would kill the process
            file.flush()
            self._cell = memoryview(mmap.mmap(file.fileno(), BYTES)).cast("q")
        self._number = 0

    @contextmanager
    def mark_call(self, index: int) -> Iterator[None]:
        """While this runs, the candidate's reward is being called."""
        self._number += CANDIDATES
        self._cell[0] = self._number + 1 + index
        try:
            yield
        finally:
            self._cell[0] = self._number


def clear_mark(folder: Path) -> None:
    """Forget what an earlier process left."""
    (folder / FILE).unlink(missing_ok=True)


def read_mark(folder: Path) -> int:
    """The mark; 0 where there is none."""
    try:
        with (folder / FILE).open("rb") as file:
            return int.from_bytes(file.read(BYTES), sys.byteorder)
    except FileNotFoundError:
        return 0


def read_candidate(mark: int) -> int | None:
    """The candidate whose reward was being called; None between calls."""
    return mark % CANDIDATES - 1 if mark % CANDIDATES else None


@dataclass
class CallWatch:
    """The coordinator's side: how long the call that a shard is in has taken."""

    mark: int = 0
    seconds: float = 0.0
    """Processor time of the process when the mark was first seen."""
    waited: float = 0.0
    looked: float = 0.0

    def look(self, mark: int, pid: int, now: float) -> str:
        """Why the call must be ended; empty while it may go on."""
        if read_candidate(mark) is None:
            self.mark = mark
            return ""
        used = read_processor_seconds(pid)
        if mark != self.mark:
            self.mark, self.seconds, self.waited = mark, used, 0.0
        else:
            self.waited += min(now - self.looked, LONGEST_STEP)
        self.looked = now
        if used - self.seconds > MOST_SECONDS:
            return f"one call took more than {MOST_SECONDS:g} s of processor time and could not be interrupted"
        if self.waited > MOST_WAITING:
            return f"one call took more than {MOST_WAITING:g} s and could not be interrupted"
        return ""


def read_processor_seconds(pid: int) -> float:
    """Processor seconds of all threads of a child that has not been waited for."""
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
