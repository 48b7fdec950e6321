"""Work on while the database is away for a moment."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

AWAY = (OperationalError, InterfaceError)
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
        except AWAY:  # the first comes late where something else has kept the database locked
            connection.close()
            until = until or time.monotonic() + settings.LEASE_SECONDS
            if time.monotonic() > until:
                raise
            time.sleep(PAUSE_SECONDS)
