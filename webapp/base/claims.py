"""Claims: at most one worker works on a row. Claim it, renew the claim, give it back, find abandoned claims.

A row that can be claimed has the columns `status` (with QUEUED and RUNNING among its choices), `owner`, `attempt`,
`heartbeat` and `rung_at`. A worker that lost its claim no longer matches owner and attempt, so its writes change
nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection, models
from django.db.models import F
from django.db.models.functions import Now

from webapp.base import processes
from webapp.base.database import CONNECTION_ERRORS
from webapp.base.store_interface import is_disk_full

BEAT_SECONDS = 0.5
"""A claim is renewed at most this often."""


class Stopped(Exception):
    """The worker must stop working on its row."""


class ClaimLost(Stopped):
    """Another worker has claimed the row, or the row was deleted."""


class Interrupted(Stopped):
    """This process was told to end."""


def claim_row(rows: models.QuerySet[Any], **values: Any) -> str:
    """Claim the queued row of this queryset. One conditional UPDATE: of several workers, exactly one succeeds.

    Returns the new owner; empty if no row was queued.
    """
    owner = processes.make_owner()
    status = rows.model.Status
    claimed = rows.filter(status=status.QUEUED).update(
        status=status.RUNNING,
        owner=owner,
        attempt=F("attempt") + 1,
        heartbeat=Now(),
        started_at=Now(),
        error="",
        **values,
    )
    return owner if claimed else ""


def select_held(row: Any) -> Any:
    """A queryset of this row; empty once the claim is lost."""
    model = type(row)
    return model._default_manager.filter(pk=row.pk, status=model.Status.RUNNING, owner=row.owner, attempt=row.attempt)


def requeue_row(row: Any, **values: Any) -> int:
    """Queue the row again. Returns 0 if the claim is lost."""
    return int(select_held(row).update(status=type(row).Status.QUEUED, owner="", **values))


_first_seen: dict[Any, dict[tuple[str, datetime], float]] = {}
"""By model, (owner, heartbeat) of each running row: when this process first saw it, by its monotonic clock."""


def find_abandoned(model: Any) -> list[Any]:
    """Running rows whose worker is gone: its process on this machine has ended, or this process has seen no new
    heartbeat for PREFINE_LEASE_SECONDS. No clocks are compared, since one of them may be wrong, or set meanwhile.
    The time in which the database takes no writes, for example on a full disk, does not count.
    """
    before = _first_seen.pop(model, {})
    running = list(model._default_manager.filter(status=model.Status.RUNNING))
    now = time.monotonic()
    seen = {(row.owner, row.heartbeat): before.get((row.owner, row.heartbeat), now) for row in running}
    for row in running:
        if now - seen[row.owner, row.heartbeat] > settings.LEASE_SECONDS / 2:
            select_held(row).update(rung_at=Now())  # raises where nobody could have written a heartbeat
    _first_seen[model] = seen
    silent_since = now - settings.LEASE_SECONDS
    return [row for row in running if seen[row.owner, row.heartbeat] < silent_since or processes.has_ended(row.owner)]


class Claim:
    """The right to work on one row, renewed by `beat`."""

    def __init__(self, row: Any) -> None:
        self.row = row
        self._beaten_at = self._renewed_at = time.monotonic()

    def renew(self) -> None:
        """Write the heartbeat. Raises ClaimLost."""
        if not select_held(self.row).update(heartbeat=Now()):
            raise ClaimLost

    def beat(self) -> None:
        """Renew the claim, at most twice a second. Raises Stopped when the work must end.

        Database errors are ignored until the last renewal is PREFINE_LEASE_SECONDS old; a full disk is ignored longer,
        as nobody can claim the row then.
        """
        now = time.monotonic()
        if now - self._beaten_at < BEAT_SECONDS:
            return
        self._beaten_at = now
        if processes.stopping.is_set():
            raise Interrupted
        try:
            self.renew()
        except CONNECTION_ERRORS as error:
            if now - self._renewed_at > settings.LEASE_SECONDS and not is_disk_full(error):
                raise
            connection.close()
            return
        self._renewed_at = now

    @contextmanager
    def beat_in_background(self) -> Iterator[Callable[[], None]]:
        """Renew the claim from a second thread during the `with` block. Raises Stopped at its end if work must end.

        Yields a function, callable from any thread, that raises Stopped as soon as the second thread has seen it.
        """
        done, stopped = threading.Event(), list[Stopped]()

        def stop_check() -> None:
            if stopped:
                raise stopped[0]

        thread = threading.Thread(target=self._beat_until, args=(done, stopped), daemon=True)
        thread.start()
        try:
            yield stop_check
        finally:
            done.set()
            thread.join()
        stop_check()

    def _beat_until(self, done: threading.Event, stopped: list[Stopped]) -> None:
        try:
            while not done.wait(BEAT_SECONDS * 2):
                self.beat()
        except Stopped as reason:
            stopped.append(reason)
        except Exception:  # whatever it is, this thread renews the claim no more, so another worker will take the row
            stopped.append(ClaimLost())
            raise
        finally:
            connection.close()
