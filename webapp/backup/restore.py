"""Put a backup in the place of a site: files first, so that the database never lacks one, then it, then its keys."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import DatabaseError, connection

from webapp import health
from webapp.backup import databases, keys
from webapp.backup.archive import KEYS, STORE, Progress, Reader, describe_size
from webapp.backup.databases import Failed
from webapp.base import scratch
from webapp.base.store import store
from webapp.experiments.models import Experiment
from webapp.studies.models import Participant, Study
from webapp.votes.models import Poll


def describe_backup(backup: Reader) -> list[str]:
    facts = backup.manifest
    files = sum(1 for _ in backup.list_keys())
    return [
        f"The backup is of {facts['created_at']}, from {facts['site']}, Prefine {facts['version']}.",
        f"It holds a {facts['database']} database and {files} files, {describe_size(backup.size)}.",
    ]


def require_fitting(backup: Reader) -> None:
    """Raises Failed if this backup cannot be restored with this version and this kind of database."""
    if backup.manifest["database"] != connection.vendor:
        raise Failed(
            f"The backup holds a {backup.manifest['database']} database, and this site uses {connection.vendor}: "
            "set PREFINE_DATABASE_URL accordingly."
        )
    here = health.list_known_migrations() | health.list_replaced_migrations()
    known = {f"{app}.{name}" for app, name in here}
    if newer := sorted(set(backup.manifest["migrations"]) - known):
        raise Failed(
            f"The backup was made by a newer version ({backup.manifest['version']}; {newer[0]} is unknown here): "
            "restore it with that one."
        )


def describe_site_here() -> list[str]:
    """What a restore would replace; empty for a site without people and work."""
    models: tuple[Any, ...] = (Study, Participant, Experiment, Poll, get_user_model())
    try:
        counts = [(model._meta, model._default_manager.count()) for model in models]
    except DatabaseError:  # not migrated: there is nothing in it
        connection.close()
        return []
    return [f"{n} {meta.verbose_name if n == 1 else meta.verbose_name_plural}" for meta, n in counts if n]


@contextmanager
def require_stopped() -> Iterator[None]:
    """Raises Failed while the site or a worker uses the database; keeps ./prefine up from starting meanwhile."""
    with (Path(settings.DATA_DIR) / "supervisor.lock").open("a+") as lock:
        _lock(lock)
        if others := databases.count_other_connections():
            raise Failed(f"{others} other connections use the database: stop site, workers and reaper first.")
        connection.close()
        yield


def _lock(file: IO[str]) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Failed(f"Prefine runs on {settings.DATA_DIR}: stop it first.") from error


def restore_backup(backup: Reader, tell: Callable[[str], None]) -> None:
    """Verify the backup, then restore it. Raises Failed; until the database is replaced the site is as it was, with
    more files, and the command can be given again.
    """
    require_fitting(backup)
    backup.verify(Progress("Checking", backup.size, tell))
    name = databases.get_file_name()
    with require_stopped(), scratch.make_folder("import") as folder:
        database = folder / name
        with backup.open(name) as source, database.open("wb") as target:
            while chunk := source.read(1 << 20):
                target.write(chunk)
        databases.check(database)
        progress = Progress("Restoring", backup.size, tell)
        for key in backup.list_keys():
            with backup.open(STORE + key) as source:
                store.publish(key, source)
            progress.add(int(backup.files[STORE + key]["size"]))
        databases.load(database)
        names = [name for name in backup.files if name.startswith(KEYS)]
        for warning in keys.write_keys({name.removeprefix(KEYS): backup.read(name) for name in names}):
            tell(warning)
    call_command("migrate", verbosity=0, interactive=False)
