"""The limits of an endpoint: requests at once, requests and tokens a minute, and pauses that it asked for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

WAIT_SECONDS = 0.2


class Gate(Protocol):
    """The gate of one endpoint. Any thread may call it."""

    def enter(self, tokens: int) -> Any | None:
        """A ticket for one request of about this many tokens; None where it has to wait and try again later.

        May raise errors.BudgetSpent where no waiting helps, but never while a request that it let in is under way.
        """

    def leave(self, ticket: Any, tokens: int | None) -> None:
        """The request is over and took this many tokens; None where that is not known."""

    def rest(self, seconds: float) -> None:
        """The endpoint asked for a pause of all requests."""


class Slots:
    """The gate of one process: it limits the requests at once."""

    def __init__(self, most: int) -> None:
        self._free = threading.BoundedSemaphore(most)
        self._closed_until = 0.0

    def enter(self, tokens: int) -> object | None:
        """One of the slots, whatever the size; None while all are taken or the endpoint rests."""
        if time.monotonic() < self._closed_until or not self._free.acquire(blocking=False):
            return None
        return self._free

    def leave(self, ticket: object, tokens: int | None) -> None:
        """Free the slot."""
        self._free.release()

    def rest(self, seconds: float) -> None:
        """Start no request for this time; a longer pause that is running stays."""
        self._closed_until = max(self._closed_until, time.monotonic() + seconds)


@contextmanager
def enter_gate(gate: Gate, tokens: int, waiting: Callable[[], None]) -> Iterator[None]:
    """A context that is entered once the gate permits it; until then `waiting` is called now and then, and may
    raise.
    """
    while (ticket := gate.enter(tokens)) is None:
        waiting()
        time.sleep(WAIT_SECONDS)
    try:
        yield
    finally:
        gate.leave(ticket, None)
