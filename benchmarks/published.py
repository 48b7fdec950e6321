"""The papers' scores of a task's human-written and sparse rewards, from docs/published.csv."""

from __future__ import annotations

import csv
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "docs" / "published.csv"
METRICS = ("task_score", "success_rate")


def read_rows() -> list[dict[str, str]]:
    """All printed scores."""
    with FILE.open(newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def references(task: str) -> dict[str, str]:
    """The printed scores of "Human" and "Sparse": each number with its deviation and its source."""
    own = [row for row in read_rows() if row["task"] == task and row["metric"] in METRICS]
    return {row["method"]: _number(row) for row in own if row["method"] in ("Human", "Sparse")}


def _number(row: dict[str, str]) -> str:
    deviation = f" +- {row['std']}" if row["std"] else ""
    return f"{row['value']}{deviation} ({row['paper']}, table {row['table']})"
