"""The workers of all machines: each registers under its name, beats, and can be told to finish and stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.db import connection
from django.db.models import Q
from django.db.models.functions import Now

from trainer import machine
from webapp.base import processes
from webapp.base.database import CONNECTION_ERRORS, PollSchedule, read_now
from webapp.experiments import provenance
from webapp.experiments.models import Worker
from webapp.experiments.protocol import PROTOCOL

LOOK_SECONDS = 2.0
IDLE_SECONDS = 60.0
"""How often a worker looks whether it is to stop, when nothing is written."""
REMEMBERED = timedelta(days=2)
"""Rows of workers that ended longer ago are deleted."""


class NameTaken(Exception):
    """Another worker has this name; the text says which."""


def get_beat_seconds() -> float:
    """SQLite serves one machine, which knows whether a process runs, and every write wakes its other processes."""
    return 600.0 if connection.vendor == "sqlite" else settings.LEASE_SECONDS / 3


def is_alive(worker: Worker) -> bool:
    """Whether the worker runs, as far as its heartbeat and this machine tell."""
    if worker.stopped_at or processes.has_ended(worker.owner):
        return False
    return read_now() - worker.heartbeat <= timedelta(seconds=3 * get_beat_seconds())


def register(name: str, kind: str, device: str) -> Worker:
    """Take the name, also from a worker that has ended. Raises NameTaken while another one bears it."""
    Worker.objects.filter(heartbeat__lt=Now() - REMEMBERED).delete()
    now = read_now()
    facts = {
        "kind": kind,
        "owner": processes.make_owner(),
        "version": provenance.get_running_version(),
        "protocol": PROTOCOL,
        "device": device,
        "machine": machine.describe_machine(),
        "started_at": now,
        "heartbeat": now,
        "stopped_at": None,
    }
    row = Worker.objects.filter(name=name).first()
    if row is None:
        row, created = Worker.objects.get_or_create(name=name, defaults=facts)
        taken = not created
    else:
        taken = is_alive(row) or not Worker.objects.filter(pk=row.pk, owner=row.owner).update(**facts)
    row.refresh_from_db()
    if taken:
        where = f"{row.owner.rpartition(':')[0]}, last heard {row.heartbeat:%H:%M:%S} UTC"
        raise NameTaken(f"Another worker is called {name} ({where}). Give this one another --name.")
    return row


def drain(worker: Worker, draining: bool) -> None:
    """Tell the worker to finish what it does and stop, or to take work again."""
    Worker.objects.filter(pk=worker.pk).update(draining=draining)


class Heartbeat:
    """Beats for a worker, from a thread of its own, and calls `finish` once it was told to stop and works no more."""

    def __init__(self, worker: Worker, finish: Callable[[], None]) -> None:
        self._worker, self._finish = worker, finish
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._schedule, self._beaten_at = PollSchedule(), time.monotonic()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End in order, which the row shows."""
        self._over.set()
        self._thread.join(LOOK_SECONDS)
        Worker.objects.filter(pk=self._worker.pk, owner=self._worker.owner).update(stopped_at=Now(), heartbeat=Now())

    def _run(self) -> None:
        try:
            while not self._over.wait(LOOK_SECONDS):
                try:
                    self.tick()
                except CONNECTION_ERRORS:
                    connection.close()
        finally:
            connection.close()

    def tick(self) -> None:
        """Beat if it is time; look whether the worker is to stop if something was written."""
        mine = Worker.objects.filter(pk=self._worker.pk, owner=self._worker.owner)
        if time.monotonic() - self._beaten_at >= get_beat_seconds():
            mine.update(heartbeat=Now())
            self._beaten_at = time.monotonic()
        if self._schedule.is_due():
            if mine.filter(draining=True).exists():
                processes.draining.set()
            else:
                processes.draining.clear()
            self._schedule.rest(IDLE_SECONDS)
        if processes.draining.is_set() and processes.is_idle():
            self._over.set()
            self._finish()


def wait_until_wanted(worker: Worker, tell: Callable[[str], None]) -> None:
    """Return once the worker may take work: at once, unless it was told to stop before this start."""
    if not Worker.objects.filter(pk=worker.pk, draining=True).exists():
        return
    tell(f"{worker.name} was told to stop, and takes no work until {settings.SITE_URL}/bench/workers/ lets it.")
    heartbeat = Heartbeat(worker, lambda: None)
    while True:
        heartbeat.tick()
        if not processes.draining.is_set():
            return
        time.sleep(LOOK_SECONDS)


def find_alive(name: str = "") -> Worker | None:
    """The worker with this name, or one of this machine, if it is alive."""
    here = Q(name=name) if name else Q(owner__startswith=f"{processes.get_machine()}:")
    return next((worker for worker in Worker.objects.filter(here) if is_alive(worker)), None)
