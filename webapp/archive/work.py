"""Exports and imports as work: a row that one worker claims with one UPDATE, and that is queued again when it dies."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from webapp.archive.models import Export, Import
from webapp.archive.unpack import Refused
from webapp.base import processes
from webapp.base.broker import is_unheard, send_message
from webapp.base.claims import Claim, ClaimLost, Interrupted, claim_row, find_abandoned, requeue_row, select_held
from webapp.base.database import try_while_away
from webapp.base.store import store
from webapp.base.store_interface import StoreError, is_disk_full

log = logging.getLogger(__name__)

Task = Export | Import
KINDS: dict[str, type[Export] | type[Import]] = {"export": Export, "import": Import}
QUEUE = "film"
"""The queue of the workers that copy files."""
RING_SECONDS = 30


class Work(Claim):
    """The claim on one task, with its progress."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.fraction, self.words = 0.0, ""
        self.stop_check: Callable[[], None] = lambda: None

    def report(self, fraction: float, words: str) -> None:
        """Save the progress. Raises Lost when the claim is lost, Interrupted when this process is to end."""
        self.fraction, self.words = fraction, words
        self.stop_check()
        if processes.stopping.is_set():
            raise Interrupted

    def renew(self) -> None:
        if not select_held(self.row).update(heartbeat=Now(), fraction=self.fraction, words=self.words):
            raise ClaimLost


def queue_task(task: Task) -> None:
    """Save a new task and call a worker once that is committed."""
    task.save()
    transaction.on_commit(partial(call_worker, task))


def call_worker(task: Task) -> None:
    """Send the task to a worker; where the broker is away, the reaper sends it again."""
    kind = "export" if isinstance(task, Export) else "import"
    type(task)._default_manager.filter(pk=task.pk).update(rung_at=Now())
    send_message("prefine.archive", (kind, task.pk), QUEUE)


def claim_task(task: Task) -> bool:
    claimed = claim_row(type(task)._default_manager.filter(pk=task.pk))
    if claimed:
        task.refresh_from_db()
    return bool(claimed)


def run_task(task: Task, do: Callable[[Task, Work], None]) -> bool:
    """Claim the task and do it. False when there was nothing to claim."""
    if not claim_task(task):
        return False
    try:
        work = Work(task)
        with work.beat_in_background() as work.stop_check:
            do(task, work)
    except ClaimLost:
        remove_file_of_deleted(task)
        return False
    except Interrupted:
        try_while_away(partial(requeue_row, task))
        return False
    except BaseException as error:
        if is_disk_full(error) or (isinstance(error, StoreError) and not error.permanent):
            log.warning("%s %s waits: %s", type(task).__name__, task.pk, error)
            try_while_away(partial(requeue_row, task))
            return False
        if isinstance(error, Refused | OSError):
            try_while_away(partial(mark_failed, task, str(error)))
            return False
        text = f"Prefine failed at this task: {type(error).__name__}: {error}. The worker's log says where."
        try_while_away(partial(mark_failed, task, text))
        raise
    done = select_held(task).update(status=task.Status.DONE, fraction=1.0, words="", finished_at=Now())
    remove_file_of_deleted(task)
    return bool(done)


def remove_file_of_deleted(task: Task) -> None:
    """Delete the zip of a task whose row was deleted while a worker was at it."""
    if not type(task)._default_manager.filter(pk=task.pk).exists():
        store.delete(task.key)


def mark_failed(task: Task, error: str) -> None:
    select_held(task).update(status=task.Status.FAILED, error=error[:2000], finished_at=Now())


def requeue_abandoned() -> None:
    """Queue the tasks of workers that died, and call workers again for tasks that none has taken."""
    for kind in KINDS.values():
        for task in find_abandoned(kind):
            if task.attempt >= settings.ATTEMPTS:
                mark_failed(task, "Its worker disappeared again and again.")
            else:
                requeue_row(task, rung_at=None)
        for task in kind._default_manager.filter(is_unheard(RING_SECONDS), status=kind.Status.QUEUED):
            call_worker(task)
