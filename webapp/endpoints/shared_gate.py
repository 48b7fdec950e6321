"""The gate of an endpoint (llm.gate.Gate): all workers share its limits through the database."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Now

from llm.backend import strip_credentials
from webapp.base.database import CONNECTION_ERRORS, read_now, retry_while_away
from webapp.base.processes import get_machine, has_ended
from webapp.endpoints.models import Call, Endpoint

MINUTE = timedelta(minutes=1)
LOST_AFTER = timedelta(minutes=15)
"""A call that is open for longer, and for twice its model's timeout, counts as lost: its machine probably died."""

P = ParamSpec("P")
R = TypeVar("R")


def _close_connection_after(
    action: Callable[Concatenate[EndpointGate, P], R],
) -> Callable[Concatenate[EndpointGate, P], R]:
    """Close the database connection afterwards, unless this is the job's own thread."""

    @wraps(action)
    def wrapped(self: EndpointGate, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return action(self, *args, **kwargs)
        finally:
            if threading.get_ident() != self.home:
                connection.close()

    return wrapped


class EndpointGate:
    """At most `at_once` requests to an address at the same time, and as many a minute as its row allows.

    `patience`: the model's timeout in seconds.
    """

    def __init__(self, base_url: str, at_once: int, patience: float) -> None:
        self.address = strip_credentials(base_url)
        self.at_once = at_once
        self.lost = max(LOST_AFTER, timedelta(seconds=2 * patience))
        self.home = threading.get_ident()

    @_close_connection_after
    def enter(self, tokens: int) -> int | None:
        """A ticket, or None if the caller must wait: the endpoint is full, or the database is unreachable."""
        try:
            return self._enter(tokens)
        except CONNECTION_ERRORS:
            connection.close()
            return None

    def _enter(self, tokens: int) -> int | None:
        endpoint, _ = Endpoint.objects.get_or_create(address=self.address)
        if not self._has_room(endpoint, tokens):  # checked without the lock first: most waiting callers never take it
            return None
        with transaction.atomic():
            endpoint = Endpoint.objects.select_for_update().get(pk=endpoint.pk)
            now = read_now()
            over, lost = Q(ended_at__lt=now - 2 * MINUTE), Q(ended_at=None, started_at__lt=now - self.lost)
            endpoint.calls.filter(over | lost).delete()
            if not self._has_room(endpoint, tokens):
                return None
            owner = f"{get_machine()}:{os.getpid()}"
            return endpoint.calls.create(owner=owner, started_at=now, tokens=tokens).pk

    @_close_connection_after
    def leave(self, ticket: int, tokens: int | None) -> None:
        known = {} if tokens is None else {"tokens": tokens}
        retry_while_away(lambda: Call.objects.filter(pk=ticket).update(ended_at=Now(), **known))

    @_close_connection_after
    def rest(self, seconds: float) -> None:
        retry_while_away(lambda: self._rest(seconds))

    def _rest(self, seconds: float) -> None:
        with transaction.atomic():
            endpoint = Endpoint.objects.select_for_update().get(address=self.address)
            until = read_now() + timedelta(seconds=seconds)
            if endpoint.closed_until is None or endpoint.closed_until < until:
                endpoint.closed_until = until
                endpoint.save(update_fields=["closed_until"])

    def _has_room(self, endpoint: Endpoint, tokens: int) -> bool:
        """Whether one more request of this size may start. If no tokens are in use, any size may."""
        now = read_now()
        if endpoint.closed_until is not None and now < endpoint.closed_until:
            return False
        use = measure_use(endpoint, now, self.lost)
        most, most_tokens = endpoint.requests_per_minute, endpoint.tokens_per_minute
        return (
            use.open < self.at_once
            and (most is None or use.requests < most)
            and (most_tokens is None or not use.tokens or use.tokens + tokens <= most_tokens)
        )


@dataclass(frozen=True)
class Use:
    """The use of an endpoint: open requests, requests begun in the last minute, and tokens of requests that are open,
    or began or ended in the last minute.
    """

    open: int
    requests: int
    tokens: int


def measure_use(endpoint: Endpoint, now: datetime, lost: timedelta = LOST_AFTER) -> Use:
    known = endpoint.calls.filter(Q(ended_at=None, started_at__gt=now - lost) | Q(ended_at__gt=now - MINUTE))
    at_once = requests = tokens = 0
    for owner, started, ended, size in known.values_list("owner", "started_at", "ended_at", "tokens"):
        waits, new = ended is None and not has_ended(owner), started > now - MINUTE
        at_once += waits
        requests += new
        tokens += size if waits or new or ended else 0
    return Use(at_once, requests, tokens)
