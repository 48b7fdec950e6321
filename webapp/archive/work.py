"""Exports and imports as work: queued as a row, claimed with one UPDATE, taken back when their worker is gone."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, Self

from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from webapp.archive.models import Export, Import
from webapp.archive.unpack import Refused
from webapp.base import processes
from webapp.base.broker import send_message
from webapp.base.processes import new_owner
from webapp.experiments import leases

log = logging.getLogger(__name__)

Task = Export | Import
KINDS: dict[str, type[Export] | type[Import]] = {"export": Export, "import": Import}
QUEUE = "film"
"""Files are copied there, not prompts sent nor policies trained."""
BEAT_SECONDS = 1.0
RING_SECONDS = 30


class Lost(Exception):
    """Somebody else has this task by now, or it was deleted."""


class Beat:
    """Keeps a task's lease and shows its progress, from a thread with a connection of its own."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.fraction, self.words = 0.0, ""
        self._done, self._lost = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def say(self, fraction: float, words: str) -> None:
        """How far it is. Raises Lost, or leases.Interrupted when this process is to end."""
        self.fraction, self.words = fraction, words
        if self._lost.is_set():
            raise Lost
        if processes.stopping.is_set():
            raise leases.Interrupted

    def _run(self) -> None:
        try:
            while not self._done.wait(BEAT_SECONDS):
                try:
                    kept = mine(self.task).update(heartbeat=Now(), fraction=self.fraction, words=self.words)
                except OperationalError:
                    connection.close()
                    continue
                if not kept:
                    self._lost.set()
                    return
        finally:
            connection.close()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._done.set()
        self._thread.join()


def mine(task: Task) -> Any:
    return type(task)._default_manager.filter(pk=task.pk, status=task.Status.RUNNING, owner=task.owner)


def add(task: Task) -> None:
    """Save a new task and call a worker once that is committed."""
    task.save()
    transaction.on_commit(partial(ring, task))


def ring(task: Task) -> None:
    """A broker that is away loses nothing: the reaper rings again."""
    kind = "export" if isinstance(task, Export) else "import"
    type(task)._default_manager.filter(pk=task.pk).update(rung_at=Now())
    send_message("prefine.archive", (kind, task.pk), QUEUE)


def claim(task: Task) -> bool:
    owner = new_owner()
    taken = (
        type(task)
        ._default_manager.filter(pk=task.pk, status=task.Status.QUEUED)
        .update(
            status=task.Status.RUNNING,
            owner=owner,
            attempt=F("attempt") + 1,
            heartbeat=Now(),
            started_at=Now(),
            error="",
        )
    )
    if taken:
        task.refresh_from_db()
    return bool(taken)


def run(task: Task, do: Callable[[Task, Beat], None]) -> bool:
    """Claim the task and do it. False when there was nothing to claim."""
    if not claim(task):
        return False
    try:
        with Beat(task) as beat:
            do(task, beat)
    except Lost:
        return False
    except leases.Interrupted:
        mine(task).update(status=task.Status.QUEUED, owner="")
        return False
    except (Refused, OSError) as error:
        fail(task, str(error))
        return False
    except BaseException as error:
        fail(task, f"A mistake of ours: {type(error).__name__}: {error}")
        raise
    done = mine(task).update(status=task.Status.DONE, fraction=1.0, words="", finished_at=Now())
    if not type(task)._default_manager.filter(pk=task.pk).exists():  # deleted meanwhile
        task.path.unlink(missing_ok=True)
    return bool(done)


def fail(task: Task, error: str) -> None:
    mine(task).update(status=task.Status.FAILED, error=error[:2000], finished_at=Now())


def pick_up() -> None:
    """Queue what a worker that is gone had, and ring for what nobody came for. Writes only where there is something."""
    silent = timezone.now() - timedelta(seconds=settings.LEASE_SECONDS)
    unheard = Q(rung_at=None) | Q(rung_at__lt=timezone.now() - timedelta(seconds=RING_SECONDS))
    for kind in KINDS.values():
        for task in kind._default_manager.filter(status=kind.Status.RUNNING, heartbeat__lt=silent):
            if task.attempt >= settings.ATTEMPTS:
                fail(task, "Its worker disappeared again and again.")
            else:
                mine(task).update(status=task.Status.QUEUED, owner="")
        for task in kind._default_manager.filter(unheard, status=kind.Status.QUEUED):
            ring(task)
