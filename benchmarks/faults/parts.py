"""The parts of a run with what was found after each, in a file of one line of JSON a part: a run that was cut off goes
on from it, and several runs add up.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

LISTS = (
    *("lost", "twice", "not counted", "not finished", "steps twice", "candidates failed"),
    *("rounds without best and worst", "clips missing"),
)
"""Facts that name what is wrong."""


@dataclass
class Part:
    run: str
    """The run's seed, date and machine."""
    name: str
    seconds: float
    notes: list[str]
    """What was done, for the report."""
    votes: int
    """Votes of this part that were acknowledged. Of the facts, those of votes are about the whole run so far."""
    facts: dict[str, Any]
    stuck: int
    """People who had not reached the last page."""
    kills: dict[str, int]
    """How often each kind of process was killed."""
    away: dict[str, list[float]]
    """Seconds until the site answered again, for each kind of kill."""
    ended: dict[str, int]
    """How often each program ended, killed or not."""
    failures: dict[str, int]
    """What people met, and tried again."""

    def list_lines(self) -> Iterator[str]:
        """What was found, to be seen also where a later part ends the run."""
        counts = (f"{name} {len(v) if isinstance(v, list) else v}" for name, v in self.facts.items())
        yield f"... {self.name}, {self.seconds:.0f} s: votes {self.votes}, {', '.join(counts)}"
        yield from (f"... {fault}" for fault in self.list_faults())

    def list_faults(self) -> list[str]:
        """What is wrong, in words."""
        found = [f"{self.stuck} people did not reach the last page"] if self.stuck else []
        return found + [f"{name}: {one}" for name in LISTS for one in self.facts[name]]


def append_part(file: Path, part: Part) -> None:
    with file.open("a") as lines:
        lines.write(json.dumps(asdict(part)) + "\n")


def read_parts(*files: Path) -> list[Part]:
    """All parts in these files; none in one that does not exist yet."""
    lines = [line for file in files if file.exists() for line in file.read_text().splitlines()]
    return [Part(**json.loads(line)) for line in lines]
