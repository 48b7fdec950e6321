"""Cells and lines of CSV files, without anything that a spreadsheet would run as a formula."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import Any

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a cell that begins with one of these for a formula."""


def format_table(rows: Iterable[Iterable[Any]]) -> str:
    """The only writer of CSV: headings are guarded as cells are, since both may be what somebody typed."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([to_cell(value) for value in row] for row in rows)
    return out.getvalue()


def format_line(cells: Iterable[Any]) -> bytes:
    return format_table([cells]).encode()


def to_cell(value: Any) -> Any:
    """The value as a CSV cell: booleans as 1 and 0, lists and dicts as JSON, formulas quoted, None empty."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return f"'{value}"
    return "" if value is None else value


def from_cell(text: str) -> str:
    """The text that was written by `to_cell`."""
    return text[1:] if text[:1] == "'" and text[1:].startswith(FORMULA_STARTS) else text
