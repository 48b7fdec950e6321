"""The papers' scores of a task's human-written and sparse rewards, from docs/published.csv."""

from __future__ import annotations

import csv
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "docs" / "published.csv"
METRICS = ("task_score", "success_rate")


def references(task: str) -> dict[str, str]:
    """The printed scores of "Human" and "Sparse": each number with its deviation and its source."""
    with FILE.open(newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    own = [row for row in rows if row["task"] == task and row["metric"] in METRICS]
    return {row["method"]: _number(row) for row in own if row["method"] in ("Human", "Sparse")}


def _number(row: dict[str, str]) -> str:
    deviation = f" +- {row['std']}" if row["std"] else ""
    return f"{row['value']}{deviation} ({row['paper']}, table {row['table']})"
