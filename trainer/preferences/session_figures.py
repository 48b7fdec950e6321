"""The figures of sessions, in which a row's teacher answers and its reward model learns, and their file."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path


@dataclass(frozen=True)
class Session:
    """The figures of one session of one row. What is None could not be said: before the first there is no model."""

    session: int
    samples: int
    """Samples of the training so far."""
    asked: int
    equal: int
    skipped: int
    labels: int
    """All answers so far."""
    epochs: int
    accuracy: float | None
    """Share of the decided answers learned from that the members get right in the last epoch, on average. Files of
    earlier versions have 1 where no answer is decided.
    """
    accuracy_before: float | None
    """The same of this session's answers, which the model had not seen by then."""
    correlation_before: float | None
    """Of the learned and the true sums of this session's segments, by the model that had not seen them."""
    disagreement: float | None
    """Mean deviation of the members' probabilities for the pairs that were asked."""
    left_out: int | None = None
    """Answers that RIME did not trust in the last epoch."""
    turned: int | None = None
    """Answers that it turned round."""


SHARES = ("accuracy", "accuracy_before", "correlation_before", "disagreement")
"""The figures that are no counts."""


def read_sessions(job_dir: Path, index: int) -> list[Session]:
    """The sessions that a candidate has held; none where it learns from its reward function."""
    try:
        with (job_dir / "preferences" / f"{index}.csv").open(newline="") as file:
            return [_read_session(row) for row in csv.DictReader(file)]
    except FileNotFoundError:
        return []


def _read_session(row: dict[str, str]) -> Session:
    shares = {name: float(row[name]) if row[name] else None for name in SHARES}
    counts = {name: int(value) if value else None for name, value in row.items() if name not in SHARES}
    return Session(**counts, **shares)  # type: ignore[arg-type]


def write_sessions(job_dir: Path, index: int, sessions: Sequence[Session]) -> None:
    """Replace a candidate's preferences/<index>.csv: a row per session; a cell of what is None is empty."""
    path = job_dir / "preferences" / f"{index}.csv"
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_suffix(".tmp")
    try:
        with temporary.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([field.name for field in fields(Session)])
            writer.writerows(astuple(session) for session in sessions)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    os.replace(temporary, path)
