"""Copy the whole database into a file while it is used, and put such a file in its place."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.db import connection

SQLITE_NAME, POSTGRES_NAME = "database.sqlite3", "database.dump"


class Failed(Exception):
    """The backup or the restore cannot go on; the text says why and what to do."""


def get_file_name() -> str:
    """How the file is called in a backup of this kind of database."""
    return SQLITE_NAME if connection.vendor == "sqlite" else POSTGRES_NAME


def dump(target: Path) -> None:
    """Write the database as it is at one moment. Nobody waits meanwhile."""
    if connection.vendor == "sqlite":
        address = f"file:{quote(str(_get_path()))}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as source, closing(sqlite3.connect(target)) as copy:
            source.backup(copy)  # one read transaction, which in WAL mode stops no writer
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, without those of the WAL
        check(target)
    else:
        _run("pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={target}")


def check(file: Path) -> None:
    """Raises Failed if this copy of a database is damaged."""
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True)) as copy:
            found = copy.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise Failed(f"the database in the backup is damaged: {found}")
    else:
        _run("pg_restore", "--list", str(file))


def load(source: Path) -> None:
    """Put this copy in the place of the database: all of it or nothing."""
    connection.close()
    if connection.vendor == "sqlite":
        path = _get_path()
        fresh = path.with_name(f".{path.name}.restored")
        shutil.copyfile(source, fresh)
        fresh.chmod(0o600)
        with fresh.open("rb") as file:
            os.fsync(file.fileno())
        for ending in ("-wal", "-shm"):  # of the database that goes
            path.with_name(path.name + ending).unlink(missing_ok=True)
        fresh.replace(path)
    else:
        _load_postgres(source)


def _load_postgres(source: Path) -> None:
    """In one transaction: drop every table, also those that the backup does not know, and make the backup's."""
    script, statements = source.with_suffix(".sql"), source.with_suffix(".load")
    _run("pg_restore", "--no-owner", "--no-privileges", f"--file={script}", str(source))
    tables = ", ".join(map(connection.ops.quote_name, connection.introspection.table_names()))
    connection.close()
    with statements.open("wb") as target, script.open("rb") as content:
        target.write(f"DROP TABLE IF EXISTS {tables} CASCADE;\n".encode() if tables else b"")
        shutil.copyfileobj(content, target)
    _run("psql", "--quiet", "--no-psqlrc", "--single-transaction", "--set=ON_ERROR_STOP=1", f"--file={statements}")


def count_other_connections() -> int:
    """How many processes use the database beside this one; 0 where that is not known."""
    if connection.vendor == "sqlite":
        return 0
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return int(cursor.fetchone()[0])


def _get_path() -> Path:
    return Path(connection.settings_dict["NAME"])


def _run(program: str, *arguments: str) -> None:
    """Run a program of PostgreSQL's with this database's address; the password is in no list of processes."""
    settings: dict[str, Any] = connection.settings_dict
    names = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD", "PGDATABASE": "NAME"}
    environment = {name: str(settings[key]) for name, key in names.items() if settings.get(key)}
    options = settings.get("OPTIONS", {})
    environment |= {f"PG{key.upper()}": str(options[key]) for key in ("sslmode", "sslrootcert") if key in options}
    try:
        done = subprocess.run(
            [program, *arguments], env={**os.environ, **environment}, capture_output=True, text=True, errors="replace"
        )
    except FileNotFoundError as error:
        raise Failed(f"{program} is missing (Debian: apt-get install postgresql-client)") from error
    if done.returncode:
        raise Failed(f"{program} failed: {done.stderr.strip()[-600:]}")
