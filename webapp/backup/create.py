"""Write a backup of a site that may be running: database, keys, files of the store."""

from __future__ import annotations

import io
import os
import re
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from webapp.backup import databases, keys
from webapp.backup.archive import KEYS, STORE, Progress, Writer, describe_size
from webapp.backup.databases import Failed
from webapp.base import scratch
from webapp.base.store import store
from webapp.base.store_interface import Store
from webapp.experiments import provenance
from webapp.experiments.run_folder import LOG, MOST_CHECKPOINT, STATE

FOLDERS = ("runs", "exports", "imports")
"""The store's folders beside those that `names("")` lists."""
RUN_PARTS = re.compile(r"(runs/[^/]+)/(.+)")


def create_backup(target: Path, tell: Callable[[str], None]) -> dict[str, Any]:
    """Write the backup: all of it, or no file of this name. Returns its facts. Raises Failed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.part")
    try:
        with scratch.make_folder("export") as folder:
            copy = folder / databases.get_file_name()
            databases.dump(copy)  # before the files: what its rows name was there at that moment
            facts = _write(part, copy, tell)
        part.replace(target)
        _sync_folder(target.parent)
    finally:
        part.unlink(missing_ok=True)
    return facts


def _write(part: Path, database: Path, tell: Callable[[str], None]) -> dict[str, Any]:
    sizes = {key: size for key in list_keys(store) if (size := store.size(key)) is not None}
    total = sum(sizes.values()) + database.stat().st_size
    if (free := shutil.disk_usage(part.parent).free) < total:
        raise Failed(
            f"the backup takes about {describe_size(total)}, but only {describe_size(free)} are free in {part.parent}"
        )
    missing = []
    descriptor = os.open(part, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o600)  # it holds keys and people's data
    with os.fdopen(descriptor, "w+b") as file:
        writer = Writer(file, Progress("Writing", total, tell))
        with database.open("rb") as content:
            writer.add(database.name, content, compress=database.name == databases.SQLITE_NAME)
        for name, value in keys.read_keys().items():
            writer.add(KEYS + name, io.BytesIO(value))
        for key in sorted(sizes, key=is_no_state):
            try:
                with store.open(key) as source:
                    writer.add(STORE + key, source)
            except FileNotFoundError:  # deleted meanwhile: by an erasure, or a checkpoint that was replaced
                missing.append(key)
        facts = describe_site() | {"deleted_meanwhile": len(missing)}
        writer.finish(facts)
        file.flush()
        os.fsync(file.fileno())
    return facts | {"files": len(writer.files), "size": part.stat().st_size}


def list_keys(source: Store) -> Iterator[str]:
    """Files that matter: no log, no checkpoint of a training that is over, or too large to be published."""
    for folder in sorted({*FOLDERS, *source.names("")}):
        found = source.keys(folder)
        over = {key.rpartition("/")[0] for key in found if key.endswith("/result.json") and key.count("/") == 2}
        for key in found:
            run = RUN_PARTS.fullmatch(key)
            if run and run[2] == LOG:  # no erasure would reach it in a bucket
                continue
            if run and STATE.fullmatch(run[2]) and (run[1] in over or (source.size(key) or 0) > MOST_CHECKPOINT):
                continue
            yield key


def is_no_state(key: str) -> bool:
    """Checkpoints refer to a training's other files, so they are read before them."""
    run = RUN_PARTS.fullmatch(key)
    return not (run and STATE.fullmatch(run[2]))


def describe_site() -> dict[str, Any]:
    return {
        "version": provenance.get_running_version(),
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "database": connection.vendor,
        "site": settings.SITE_URL,
        "migrations": sorted(f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations()),
    }


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
