"""Figures of runs that are kept as CSV files, in docs/comparisons, and read again."""

from __future__ import annotations

import argparse
import csv
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from simulation import catalog

KEPT = Path(__file__).resolve().parents[1] / "docs" / "comparisons"
Record = TypeVar("Record")
"""A dataclass whose fields are texts and numbers: a line of a file."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where figures are kept."""
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep the figures in this file")
    parser.add_argument("--read", type=Path, metavar="FILE", help="print the tables of such a file, run nothing")


def name_settings(task: str, *made_of: object) -> str:
    """The task's revision, and six digits that change with anything that a training is made of."""
    return f"{catalog.get_task(task).revision}.{hashlib.sha256(repr(made_of).encode()).hexdigest()[:6]}"


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write_table(path: Path, columns: Iterable[str], rows: Iterable[Sequence[object]]) -> None:
    """Replace a CSV file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def read_records(path: Path | None, kind: type[Record]) -> list[Record]:
    """What `write_records` wrote; nothing where there is no file."""
    if path is None or not path.exists():
        return []
    hints = get_type_hints(kind)
    return [kind(**{name: _convert(text, hints[name]) for name, text in row.items()}) for row in read_table(path)]


def _convert(text: str, hint: Any) -> Any:
    kinds = get_args(hint) or (hint,)
    return None if not text and NoneType in kinds else kinds[0](text)


def write_records(path: Path | None, records: Sequence[Any]) -> None:
    """A line for each; nothing where no file is named."""
    if path and records:
        write_table(path, [field.name for field in fields(records[0])], map(astuple, records))
