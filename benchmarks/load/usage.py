"""Memory and processor time of processes, with their children's."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.webapp.servers import processes

CLOCK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Usage:
    """What a program used since it began."""

    seconds: float
    """Processor seconds, with those of children that have ended."""
    megabytes: float
    """Memory; what processes share is divided among them."""


def read_usage(programs: Mapping[str, int]) -> dict[str, Usage]:
    """By the program's name, from its process id; a program that another has started counts for itself alone."""
    parents = {pid: parent for pid, (parent, _) in processes().items() if pid not in programs.values()}
    return {name: _add_up(pid, parents) for name, pid in programs.items()}


def _add_up(first: int, parents: Mapping[int, int]) -> Usage:
    family = [first]
    for pid in family:
        family += [child for child, parent in parents.items() if parent == pid]
    seconds = kilobytes = 0.0
    for pid in family:
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            seconds += sum(map(int, fields[11:15])) / CLOCK
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
            kilobytes += int(rollup.partition("\nPss:")[2].split()[0])
    return Usage(seconds, kilobytes / 1000)


@dataclass
class Period:
    """What each program used in a part of the run."""

    name: str
    seconds: float = 0.0
    processor: dict[str, float] = field(default_factory=dict)
    """Seconds of a processor."""
    megabytes: dict[str, float] = field(default_factory=dict)
    """At its end."""

    def share(self, program: str) -> float:
        """Percent of one core."""
        return 100 * self.processor[program] / self.seconds


@contextmanager
def period(name: str, programs: Mapping[str, int]) -> Iterator[Period]:
    """Measures the block."""
    part, began, before = Period(name), time.monotonic(), read_usage(programs)
    yield part
    after = read_usage(programs)
    part.seconds = time.monotonic() - began
    part.processor = {one: after[one].seconds - before[one].seconds for one in programs}
    part.megabytes = {one: after[one].megabytes for one in programs}
