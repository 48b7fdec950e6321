from __future__ import annotations

import os
import signal
import socket
import threading
import time
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from trainer import run
from webapp.base import logs
from webapp.base.commands import PrefineCommand
from webapp.base.store import store
from webapp.celery import app
from webapp.experiments import workers
from webapp.experiments.models import Worker
from webapp.experiments.protocol import list_queues


class Command(PrefineCommand):
    verb = "worker"
    help = (
        "Take work from one queue until it is told to end: train (needs a processor or GPU), film, or llm (asks "
        "language models, takes experiments forward). Reads PREFINE_DATABASE_URL, PREFINE_BROKER_URL and "
        "PREFINE_STORE_URL. On SIGTERM it gives its work back, which another worker continues."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kind", choices=Worker.Kind.values, help="the queue")
        parser.add_argument("--device", help="where it trains: auto, cpu, cuda, cuda:0, ... (default: PREFINE_DEVICE)")
        parser.add_argument("--name", help="how the bench calls it, unlike every other worker (default: KIND@HOST)")

    def handle(self, *args: Any, **options: Any) -> None:
        kind, name = options["kind"], options["name"] or f"{options['kind']}@{socket.gethostname()}"
        if options["device"] and kind != Worker.Kind.TRAIN:
            raise CommandError(f"--device says where a worker trains; {kind} does not train.")
        if options["device"]:
            os.environ["PREFINE_DEVICE"] = options["device"]  # the trainer's processes inherit it
        device = find_device() if kind == Worker.Kind.TRAIN else ""
        require_database()
        if settings.STORE:
            check_store()
        worker = register(name[:120], kind, device)
        workers.wait_until_wanted(worker, self.stdout.write)
        heartbeat = workers.Heartbeat(worker, lambda: os.kill(os.getpid(), signal.SIGTERM))
        heartbeat.start()
        logs.CONTEXT["worker"].set(name)
        try:
            status = take_work(kind, name)
        finally:
            heartbeat.stop()
        raise SystemExit(status)


def take_work(kind: str, name: str) -> int:
    """Take work until told to end; returns the exit status.

    One process (solo): when the only process of a pool was killed, Celery took calls and never carried them out. Not
    by Celery's command line, which loads a shell, and without its checks, which load every page.
    """
    os.environ["CELERY_SKIP_CHECKS"] = "1"
    left_out = {"without_gossip": True, "without_mingle": True, "without_heartbeat": True}
    host, queues = f"{name}@{socket.gethostname()}", list_queues(kind)
    worker = app.Worker(loglevel="INFO", pool="solo", hostname=host, queues=queues, **left_out)
    worker.start()
    status: int = worker.exitcode or 0
    return status


def find_device() -> str:
    """The device with a GPU's name."""
    try:
        return " ".join(run.find_device_and_gpu(run.read_device_setting())).strip()
    except ValueError as error:
        raise CommandError(str(error)) from error


def require_database() -> None:
    """Refuse a database of an earlier version, whose columns may lack."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise CommandError("The database is of an earlier version. Migrate it first: ./prefine manage migrate")


def check_store() -> None:
    try:
        store.check()
    except OSError as error:
        raise CommandError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error


def register(name: str, kind: str, device: str) -> Worker:
    """Register under this name; a worker of another machine that was killed keeps it until it counts as silent."""
    until = time.monotonic() + settings.LEASE_SECONDS + 1
    while True:
        try:
            return workers.register(name, kind, device)
        except workers.NameTaken as error:
            if time.monotonic() > until:
                raise CommandError(str(error)) from error
        threading.Event().wait(1.0)
