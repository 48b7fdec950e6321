"""What a training asks of people about pairs of segments, and what they answer: files in the folder of its run.

queries/<index>-<session>.json          the pairs, by the numbers of their segments, and a digest of what they show
queries/<index>-<session>-<segment>.npz a rollout to film, for each segment
answers/<index>-<session>.json          written by the caller: that digest, and an answer for each pair

Of a simulated teacher's sessions some pairs are there too, with its answers, to be filmed: nothing waits for them.

A training that has asked others ends, and is started again when the answers are there. The caller may change the
answers of earlier sessions to skip, for example because a person took theirs back: the next session learns without
them. Imports neither torch nor mujoco.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ANSWERS = ("first", "second", "equal", "skip")


@dataclass(frozen=True)
class Queries:
    """The pairs of one session of one candidate."""

    session: int
    """The session's number, counted from 1."""
    segments: int
    """How many there are; they are numbered from 0."""
    pairs: tuple[tuple[int, int], ...]
    """The numbers of the first and the second segment of each."""
    digest: str
    """A digest of the segments and the pairs: answers belong to these alone."""
    answers: tuple[str, ...] = ()
    """Of a simulated teacher, which nobody else is asked for; then these are some of the session's pairs, to be filmed,
    and there is no digest.
    """


def get_queries_file(job_dir: Path, index: int, session: int) -> Path:
    """Where a session of a candidate has its queries."""
    return job_dir / "queries" / f"{index}-{session}.json"


def get_segment_file(job_dir: Path, index: int, session: int, segment: int) -> Path:
    """Where a segment of these queries has its rollout."""
    return job_dir / "queries" / f"{index}-{session}-{segment}.npz"


def get_answers_file(job_dir: Path, index: int, session: int) -> Path:
    """Where a session of a candidate has its answers."""
    return job_dir / "answers" / f"{index}-{session}.json"


def write_queries(job_dir: Path, index: int, queries: Queries) -> None:
    """Write the queries of a session, after the rollouts of their segments."""
    said = {name: value for name, value in asdict(queries).items() if name != "answers" or value}
    _replace(get_queries_file(job_dir, index, queries.session), said)


def read_queries(job_dir: Path, index: int, session: int) -> Queries | None:
    """The queries of a session, or None where it has none."""
    try:
        found = json.loads(get_queries_file(job_dir, index, session).read_text())
    except FileNotFoundError:
        return None
    pairs = tuple((int(first), int(second)) for first, second in found["pairs"])
    return Queries(**{**found, "pairs": pairs, "answers": tuple(found.get("answers", ()))})


def list_sessions(job_dir: Path, index: int) -> list[int]:
    """The numbers of the sessions of a candidate that have queries."""
    names = [path.stem.partition("-") for path in (job_dir / "queries").glob(f"{index}-*.json")]
    return sorted(int(number) for _, _, number in names)


def write_answers(job_dir: Path, index: int, session: int, digest: str, answers: Sequence[str]) -> None:
    """Answer the queries with this digest, in their order."""
    _replace(get_answers_file(job_dir, index, session), {"digest": digest, "answers": list(answers)})


def read_answers(job_dir: Path, index: int, queries: Queries) -> list[str] | None:
    """The answers to these queries, or None while there are none. Raises ValueError where they are not about them."""
    file = get_answers_file(job_dir, index, queries.session)
    try:
        found = json.loads(file.read_text())
    except FileNotFoundError:
        return None
    answers = found["answers"]
    if found["digest"] != queries.digest or len(answers) != len(queries.pairs) or set(answers) - set(ANSWERS):
        raise ValueError(f"{file} does not answer the pairs that this training asks about")
    return list(answers)


def read_earlier_answers(job_dir: Path, index: int, session: int) -> list[list[str]]:
    """The answers of all sessions before this one, as they are now."""
    files = [get_answers_file(job_dir, index, earlier) for earlier in range(1, session)]
    return [list(json.loads(file.read_text())["answers"]) for file in files]


def _replace(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        temporary.write_text(json.dumps(content))
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    os.replace(temporary, path)
