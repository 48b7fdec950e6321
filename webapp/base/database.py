"""Work on while the database is away for a moment; look at it only when it has changed."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import quote

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

CONNECTION_ERRORS = (OperationalError, InterfaceError)
"""What a database raises that is shutting down, starting, or locked for too long."""
PAUSE_SECONDS = 0.5
T = TypeVar("T")


def retry_while_away(action: Callable[[], T]) -> T:
    """Do this again while the database is away, for at most PREFINE_LEASE_SECONDS. Raises the last failure.

    For what must not be lost: an answer of a model is paid for.
    """
    until = None
    while True:
        try:
            return action()
        except CONNECTION_ERRORS:  # the first comes late where something else has kept the database locked
            connection.close()
            until = until or time.monotonic() + settings.LEASE_SECONDS
            if time.monotonic() > until:
                raise
            time.sleep(PAUSE_SECONDS)


class CommitCounter:
    """Tells whether anybody, in any process, has committed: exact and nearly free on SQLite, unknown elsewhere."""

    def __init__(self) -> None:
        self._reader: sqlite3.Connection | None = None
        self._readers = 0

    def read(self) -> tuple[int, int] | None:
        """Another value after every commit; None where that cannot be told."""
        if connection.vendor != "sqlite":
            return None
        try:
            if self._reader is None:
                path = quote(str(connection.settings_dict["NAME"]))
                self._reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=0, check_same_thread=False)
                self._readers += 1  # the numbers of two readers say nothing of each other
            return self._readers, self._reader.execute("PRAGMA data_version").fetchall()[0][0]
        except sqlite3.Error:
            self._reader = None
            return None


class PollSchedule:
    """When to look at the database again: after a commit, and when the time comes that the last look named."""

    def __init__(self) -> None:
        self._commits = CommitCounter()
        self._now: tuple[int, int] | None = None
        self._seen: tuple[int, int] | None = None
        self._due_at = 0.0

    def is_due(self) -> bool:
        self._now = self._commits.read()
        return self._now is None or self._now != self._seen or time.monotonic() >= self._due_at

    def rest(self, seconds: float) -> None:
        """After a look that succeeded: nothing that was there then needs another one for so long."""
        self._seen, self._due_at = self._now, time.monotonic() + seconds
