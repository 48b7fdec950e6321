"""A file with the score of every policy, without the programs: enough to count again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.kept import read_table, write_table
from benchmarks.published_rewards.order import Scores
from benchmarks.published_rewards.reading import Program

COLUMNS = ("preset", "task", "method", "model", "file", "seed", "score")


def save_scores(path: Path, preset: str, scored: Sequence[tuple[Program, Scores]]) -> None:
    """A line for each policy."""
    rows = (
        (preset, program.task, program.method, program.model, program.where, seed, score)
        for program, scores in scored
        for seed, score in scores.items()
    )
    write_table(path, COLUMNS, rows)


def read_scores(path: Path, preset: str) -> list[tuple[Program, Scores]]:
    """The programs of such a file, without their texts. Raises ValueError where it holds none with this preset, or
    has other columns.
    """
    found: dict[Program, dict[int, float]] = {}
    for row in read_table(path):
        if missing := {*COLUMNS} - row.keys():
            raise ValueError(f"{path} has no column {', '.join(sorted(missing))}")
        if row["preset"] == preset:
            program = Program(row["method"], row["task"], row["model"], "", row["file"])
            found.setdefault(program, {})[int(row["seed"])] = float(row["score"])
    if not found:
        raise ValueError(f"{path} holds no scores with the preset {preset}")
    return list(found.items())
