"""The verdict on a reward source: torch-free, so that callers outside the jail can hold one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """Whether a source is an executable reward function, and if not, what a writer must change."""

    ok: bool
    stage: str
    """Where it ended: parse, allow-list, compile, run, contract, limits, or done; input where there was no source."""
    reason: str = ""
    """A sentence or short traceback that a model (or a person) can act on."""
