"""Cells and lines of CSV files, without anything that a spreadsheet would run as a formula."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import Any

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a cell that begins with one of these for a formula."""


def format_line(cells: Iterable[Any]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(list(cells))
    return out.getvalue().encode()


def to_cell(value: Any) -> Any:
    """The value as a CSV cell: booleans as 1 and 0, lists and dicts as JSON, formulas quoted, None empty."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return f"'{value}"
    return "" if value is None else value
