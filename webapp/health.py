"""Whether this process answers, and whether it can serve pages: database, migrations, broker, store.

Texts name what fails and how, never an address, a password or a person.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from functools import cache

from celery import current_app
from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse

from webapp.base.store import store

log = logging.getLogger(__name__)
KEPT_SECONDS = 2.0
"""How long an answer is given again: any number of probes costs one check in this time."""


def check_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def list_missing_migrations() -> list[str]:
    """Migrations of this version that the database lacks. Migrations that only a newer version has do not count."""
    applied = MigrationRecorder(connection).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in list_known_migrations() if (app, name) not in applied)


@cache
def list_known_migrations() -> frozenset[tuple[str, str]]:
    """The migrations on this machine's disk. A squashed one stands for those that it replaces."""
    return frozenset(MigrationLoader(None).graph.nodes)


@cache
def list_replaced_migrations() -> frozenset[tuple[str, str]]:
    """The migrations that a database of an earlier version holds, and that a squashed one replaces here."""
    on_disk = MigrationLoader(None).disk_migrations.values()
    return frozenset(replaced for migration in on_disk for replaced in migration.replaces)


def check_migrations() -> None:
    if missing := list_missing_migrations():
        raise RuntimeError(f"{len(missing)} migrations are not applied, from {missing[0]} on")


def check_broker() -> None:
    if settings.CELERY_BROKER_URL.startswith("filesystem://"):
        folder = str(settings.CELERY_BROKER_TRANSPORT_OPTIONS["data_folder_in"])
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError("the broker's folder is missing or cannot be written to")
        return
    with current_app.connection_for_write() as broker:
        broker.channel()  # connects, and asks for an answer


def check_store() -> None:
    store.check()


CHECKS: dict[str, Callable[[], None]] = {
    "database": check_database,
    "migrations": check_migrations,
    "broker": check_broker,
    "store": check_store,
}


FAULTS = (TypeError, AttributeError, NameError, LookupError, ImportError, AssertionError)
"""Errors that no part that is away raises, but a mistake in the program does."""


def find_failures() -> dict[str, Exception]:
    """What fails, by name."""
    failures = {}
    for name, check in CHECKS.items():
        try:
            check()
        except Exception as error:  # whatever it is, the site is not ready, and the answer says which part is not
            failures[name] = error
    return failures


_last: tuple[float, dict[str, str]] | None = None


def read_state() -> dict[str, str]:
    """The parts that fail, each with the kind of its error; at most every two seconds they are really asked."""
    global _last
    now = time.monotonic()
    if _last is None or now - _last[0] > KEPT_SECONDS:
        failures = find_failures()
        for name, error in failures.items():
            trace = error if isinstance(error, FAULTS) else None
            log.error("not ready: %s: %s: %s", name, type(error).__name__, error, exc_info=trace)
        _last = now, {name: type(error).__name__ for name, error in failures.items()}
    return _last[1]


def show_live(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"status": "live", "version": settings.VERSION})


def show_ready(request: HttpRequest) -> HttpResponse:
    failing = read_state()
    if failing:
        return JsonResponse({"status": "not ready", "failing": failing}, status=503)
    return JsonResponse({"status": "ready"})
