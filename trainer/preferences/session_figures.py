"""The figures of sessions, in which a row's teacher answers and its reward model learns, and their files."""

from __future__ import annotations

import csv
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any


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
    points: tuple[tuple[float, float], ...] = ()
    """Learned and true sum of some of this session's segments, by the model that had not seen them. In a file of their
    own, and in no checkpoint, so that earlier versions read the others.
    """
    metrics: tuple[float | None, ...] = ()
    """Of each of these segments, the sum of the task's metric; None where it counts at no step. Empty where no segment
    has any, or an earlier version began the training. Beside the points in their file.
    """
    held_out: float | None = None
    """Share of a simulated teacher's held-out answers (`held_out.py`) that the members get right after this session, on
    average. In a file of its own, and in no checkpoint.
    """

    def to_state(self) -> dict[str, Any]:
        """The figures of checkpoints and of the sessions' own file."""
        return {name: value for name, value in asdict(self).items() if name not in APART}


APART = ("points", "metrics", "held_out")
Point = tuple[float, float, float | None]
"""Learned and true sum of a segment, and that of the metric."""
SHARES = ("accuracy", "accuracy_before", "correlation_before", "disagreement")
"""The figures that are no counts."""


def read_sessions(job_dir: Path, index: int) -> list[Session]:
    """The sessions that a candidate has held; none where it learns from its reward function."""
    points, held_out = _read_points(job_dir, index), _read_held_out(job_dir, index)
    rows = _read_rows(_get_file(job_dir, index))
    return [_read_session(row, points.get(int(row["session"])), held_out.get(int(row["session"]))) for row in rows]


def write_sessions(job_dir: Path, index: int, sessions: Sequence[Session]) -> None:
    """Replace a candidate's preferences/<index>.csv: a row per session; a cell of what is None is empty. Its
    <index>-points.csv and <index>-held-out.csv keep those of earlier sessions, which a training that went on does not
    know.
    """
    points = {number: found for number, found in _read_points(job_dir, index).items() if number <= len(sessions)}
    points |= {one.session: _join_points(one) for one in sessions if one.points}
    lines = [(number, *point) for number, found in sorted(points.items()) for point in found]
    _replace(_get_file(job_dir, index, "-points"), ("session", "learned", "true", "metric"), lines)
    shares = {number: right for number, right in _read_held_out(job_dir, index).items() if number <= len(sessions)}
    shares |= {one.session: one.held_out for one in sessions if one.held_out is not None}
    _replace(_get_file(job_dir, index, "-held-out"), ("session", "right"), sorted(shares.items()))
    names = [field.name for field in fields(Session) if field.name not in APART]
    _replace(_get_file(job_dir, index), names, [tuple(one.to_state().values()) for one in sessions])


def _get_file(job_dir: Path, index: int, part: str = "") -> Path:
    return job_dir / "preferences" / f"{index}{part}.csv"


def _read_rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="") as file:
            return list(csv.DictReader(file))
    except FileNotFoundError:
        return []


def _join_points(session: Session) -> list[Point]:
    """A session's points with their metric."""
    metrics = session.metrics or (None,) * len(session.points)
    return [(*point, metric) for point, metric in zip(session.points, metrics, strict=True)]


def _read_points(job_dir: Path, index: int) -> dict[int, list[Point]]:
    """The points of each session; none in files of earlier versions, or none with a metric."""
    found: dict[int, list[Point]] = defaultdict(list)
    for row in _read_rows(_get_file(job_dir, index, "-points")):
        metric = float(row["metric"]) if row.get("metric") else None
        found[int(row["session"])].append((float(row["learned"]), float(row["true"]), metric))
    return found


def _read_held_out(job_dir: Path, index: int) -> dict[int, float]:
    """The share of each session; none where people answer, or an earlier version held it."""
    return {int(row["session"]): float(row["right"]) for row in _read_rows(_get_file(job_dir, index, "-held-out"))}


def _read_session(row: dict[str, str], points: Sequence[Point] | None, held_out: float | None) -> Session:
    shares = {name: float(row[name]) if row[name] else None for name in SHARES}
    counts = {name: int(value) if value else None for name, value in row.items() if name not in SHARES}
    metrics = tuple(metric for *_, metric in points or ())
    own = {"points": tuple((learned, true) for learned, true, _ in points or ())}
    known = {"metrics": metrics} if any(metric is not None for metric in metrics) else {}
    return Session(**counts, **shares, **own, **known, held_out=held_out)  # type: ignore[arg-type]


def _replace(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_suffix(".tmp")
    try:
        with temporary.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(head)
            writer.writerows(rows)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    os.replace(temporary, path)
