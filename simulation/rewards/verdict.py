"""The verdict on a reward source: torch-free, so that callers outside the jail can hold one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

REASON_LETTERS = 500
"""Reasons stand in results, on pages and in prompts."""


def shorten(reason: str) -> str:
    """The reason, cut where it is longer than REASON_LETTERS."""
    return reason if len(reason) <= REASON_LETTERS else f"{reason[: REASON_LETTERS - 4]} ..."


@dataclass(frozen=True)
class Verdict:
    """Whether a source is an executable reward function, and if not, what a writer must change."""

    ok: bool
    stage: str
    """Where it ended: parse, allow-list, compile, run, contract, limits, or done; input where there was no source."""
    reason: str = ""
    """A sentence or short traceback that a model (or a person) can act on."""
    notes: tuple[str, ...] = ()
    """Statements without effect in an executable function; they are harmless and rarely intended."""

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Verdict:
        """Inverse of `asdict`, also after JSON. Raises KeyError or TypeError on anything else."""
        return cls(bool(record["ok"]), str(record["stage"]), str(record["reason"]), tuple(map(str, record["notes"])))
