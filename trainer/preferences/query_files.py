"""A session's pairs as files that can be filmed (trainer.preferences.exchange)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from simulation.catalog import AnyPreset, TaskInfo
from simulation.rollout import write_rollout
from trainer.preferences.algorithms import Preferences
from trainer.preferences.exchange import Queries, get_segment_file, write_queries
from trainer.preferences.queries import Query
from trainer.preferences.segments import RECORDED_WORLDS, Segments


def count_recorded_worlds(wanted: Sequence[Preferences | None], preset: AnyPreset) -> int:
    """The worlds of each candidate whose poses are needed for films; 0 where none learns from pairs."""
    return min(RECORDED_WORLDS, preset.worlds) if any(wanted) else 0


def describe(query: Query, segments: Segments) -> Queries:
    """A session's pairs as a file has them."""
    pairs = tuple((int(first), int(second)) for first, second in query.pairs.tolist())
    shown = hashlib.sha256(repr(pairs).encode())
    for tensor in (segments.inputs, segments.valid):
        shown.update(tensor.cpu().contiguous().numpy().tobytes())
    return Queries(query.session, len(segments), pairs, shown.hexdigest())


def write(job_dir: Path, index: int, info: TaskInfo, nq: int, queries: Queries, segments: Segments) -> None:
    """Write a candidate's queries, with a rollout of each segment; `nq`: positions in a pose."""
    for number, (poses, valid) in enumerate(zip(segments.poses.cpu(), segments.valid.cpu(), strict=True)):
        states = poses[valid].double().numpy()
        restart = np.zeros(len(states), dtype=bool)
        restart[0] = True
        file = get_segment_file(job_dir, index, queries.session, number)
        mocap = states[:, nq:].reshape(len(states), -1, 7)
        write_rollout(file, info.name, states[:, :nq], info.control_dt, restart, mocap, whole=True)
    write_queries(job_dir, index, queries)
