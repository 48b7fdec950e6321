"""Retry while the database is unreachable; poll it only after a commit."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar
from urllib.parse import quote

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from webapp.base import processes
from webapp.base.store_interface import is_disk_full

log = logging.getLogger(__name__)
CONNECTION_ERRORS = (OperationalError, InterfaceError)
"""Raised while a database shuts down, starts, or is locked for too long."""
PAUSE_SECONDS = 0.5
BLIND_SECONDS = 5.0
"""How often an idle process looks on PostgreSQL, which does not say whether something was written."""
T = TypeVar("T")


def retry_while_away(action: Callable[[], T]) -> T:
    """Retry the action on connection errors for PREFINE_LEASE_SECONDS, then raise the last one. On a full disk of the
    database, retry for as long as this process may go on.

    For writes that must not be lost, such as a model's answer, which has been paid for.
    """
    until = None  # counts from the first error, which SQLite raises only after its own wait for a lock
    while True:
        try:
            return action()
        except CONNECTION_ERRORS as error:
            connection.close()
            until = until or time.monotonic() + settings.LEASE_SECONDS
            may_wait = is_disk_full(error) and not processes.stopping.is_set()
            if time.monotonic() > until and not may_wait:
                raise
            time.sleep(PAUSE_SECONDS)


def try_while_away(action: Callable[[], T]) -> T | None:
    """As `retry_while_away`, but log the last connection error and return None: another error is being handled."""
    try:
        return retry_while_away(action)
    except CONNECTION_ERRORS:
        log.exception("The database stayed away; a claim that was not given back ends by itself")
        return None


def read_now() -> datetime:
    """The time by the database's clock: what several processes compare is read from it, as their own may differ."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')")
            return datetime.fromisoformat(cursor.fetchone()[0]).replace(tzinfo=UTC)
        cursor.execute("SELECT STATEMENT_TIMESTAMP()")
        now: datetime = cursor.fetchone()[0]
        return now


class CommitCounter:
    """Tells whether any process has committed: exact and nearly free on SQLite, unknown on other databases."""

    def __init__(self) -> None:
        self._reader: sqlite3.Connection | None = None
        self._readers = 0

    def read(self) -> tuple[int, int] | None:
        """A value that changes with every commit; None if the database cannot tell."""
        if connection.vendor != "sqlite":
            return None
        try:
            if self._reader is None:
                path = quote(str(connection.settings_dict["NAME"]))
                self._reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=0, check_same_thread=False)
                self._readers += 1  # values of two connections cannot be compared
            return self._readers, self._reader.execute("PRAGMA data_version").fetchall()[0][0]
        except sqlite3.Error:
            self._reader = None
            return None


class PollSchedule:
    """When to poll the database again: after a commit, or when the time given to `rest` is over.

    Where commits cannot be counted: `blind_seconds` after the last poll.
    """

    def __init__(self, blind_seconds: float = 0.0) -> None:
        self.blind_seconds = blind_seconds
        self._commits = CommitCounter()
        self._now: tuple[int, int] | None = None
        self._seen: tuple[int, int] | None = None
        self._due_at = 0.0

    def is_due(self) -> bool:
        self._now = self._commits.read()
        commit = self._now is not None and self._now != self._seen
        return commit or time.monotonic() >= self._due_at

    def rest(self, seconds: float) -> None:
        """After a successful poll: without a commit none is needed for this many seconds."""
        rest = min(seconds, self.blind_seconds) if self._now is None else seconds
        self._seen, self._due_at = self._now, time.monotonic() + rest
