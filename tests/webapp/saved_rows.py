"""Rows and files that many tests begin with, made once in a process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from django.apps import apps
from django.conf import settings
from django.db import connection

Made = TypeVar("Made")
Saved = tuple[Any, dict[str, list[tuple[Any, ...]]], dict[Path, bytes]]
"""What a function returned, the rows of each table, and the data folder's files."""
_saved: dict[tuple[Any, ...], Saved] = {}


def put_back(create: Callable[..., Made], *arguments: Any) -> Made:
    """What `create` returned for these arguments at the first call. Later calls put the rows and files back that it had
    made then. The installation must be empty each time.
    """
    key = (create, *arguments)
    if key not in _saved:
        assert not read_rows(), "later tests would get rows of other fixtures"
        _saved[key] = create(*arguments), read_rows(), read_files()
        return _saved[key][0]
    made, rows, files = _saved[key]
    for path, content in files.items():
        target = settings.DATA_DIR / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    with connection.cursor() as cursor:
        for table, found in rows.items():
            cursor.executemany(f'INSERT INTO "{table}" VALUES ({", ".join(["%s"] * len(found[0]))})', found)
    return made


def read_rows() -> dict[str, list[tuple[Any, ...]]]:
    """As the database holds them, by table; without those that migrations made."""
    models = [model for model in apps.get_models(include_auto_created=True) if not model._meta.proxy]
    tables = [m._meta.db_table for m in models if m._meta.app_label not in ("auth", "contenttypes")]
    found = {}
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f'SELECT * FROM "{table}"')
            found[table] = cursor.fetchall()
    return {table: rows for table, rows in found.items() if rows}


def read_files() -> dict[Path, bytes]:
    """The data folder's files by their path in it."""
    paths = [path for path in settings.DATA_DIR.rglob("*") if path.is_file()]
    return {path.relative_to(settings.DATA_DIR): path.read_bytes() for path in paths}
