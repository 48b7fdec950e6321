"""Cells and lines of CSV files that a spreadsheet opens without running anything."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import Any

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet would run a cell that begins so."""


def format_line(cells: Iterable[Any]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(list(cells))
    return out.getvalue().encode()


def to_cell(value: Any) -> Any:
    """A value in a cell of a CSV: true and false as 1 and 0, lists as JSON, no text that a spreadsheet would run."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return f"'{value}"
    return "" if value is None else value
