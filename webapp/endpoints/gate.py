"""The door of an endpoint, shared by all jobs of all workers through the database (llm.gate.Gate)."""

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
from django.utils import timezone

from llm.backend import without_credentials
from webapp.base.database import CONNECTION_ERRORS, retry_while_away
from webapp.base.processes import get_machine, has_ended
from webapp.endpoints.models import Call, Endpoint

MINUTE = timedelta(minutes=1)
LOST_AFTER = timedelta(minutes=15)
"""A request that is under way for longer, and for twice its model's patience, is taken for one whose machine died."""

P = ParamSpec("P")
R = TypeVar("R")


def _close_connection_after(
    action: Callable[Concatenate[EndpointGate, P], R],
) -> Callable[Concatenate[EndpointGate, P], R]:
    """Gives the database connection of a helper thread back; that of the job's own thread stays."""

    @wraps(action)
    def wrapped(self: EndpointGate, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return action(self, *args, **kwargs)
        finally:
            if threading.get_ident() != self.home:
                connection.close()

    return wrapped


class EndpointGate:
    """`at_once` requests at an address at the same time, and as many a minute as its row allows.

    `patience`: seconds of silence after which a request is given up.
    """

    def __init__(self, base_url: str, at_once: int, patience: float) -> None:
        self.address = without_credentials(base_url)
        self.at_once = at_once
        self.lost = max(LOST_AFTER, timedelta(seconds=2 * patience))
        self.home = threading.get_ident()

    @_close_connection_after
    def enter(self, tokens: int) -> int | None:
        """None also while the database is away; the caller's heartbeat says when that is for too long."""
        try:
            return self._enter(tokens)
        except CONNECTION_ERRORS:
            connection.close()
            return None

    def _enter(self, tokens: int) -> int | None:
        endpoint, _ = Endpoint.objects.get_or_create(address=self.address)
        if not self._has_room(endpoint, tokens):  # looked at first, so that waiting locks nobody out
            return None
        with transaction.atomic():
            endpoint = Endpoint.objects.select_for_update().get(pk=endpoint.pk)
            now = timezone.now()
            over, lost = Q(ended_at__lt=now - 2 * MINUTE), Q(ended_at=None, started_at__lt=now - self.lost)
            endpoint.calls.filter(over | lost).delete()
            if not self._has_room(endpoint, tokens):
                return None
            owner = f"{get_machine()}:{os.getpid()}"
            return endpoint.calls.create(owner=owner, started_at=now, tokens=tokens).pk

    @_close_connection_after
    def leave(self, ticket: int, tokens: int | None) -> None:
        known = {} if tokens is None else {"tokens": tokens}
        retry_while_away(lambda: Call.objects.filter(pk=ticket).update(ended_at=timezone.now(), **known))

    @_close_connection_after
    def rest(self, seconds: float) -> None:
        retry_while_away(lambda: self._rest(seconds))

    def _rest(self, seconds: float) -> None:
        until = timezone.now() + timedelta(seconds=seconds)
        with transaction.atomic():
            endpoint = Endpoint.objects.select_for_update().get(address=self.address)
            if endpoint.closed_until is None or endpoint.closed_until < until:
                endpoint.closed_until = until
                endpoint.save(update_fields=["closed_until"])

    def _has_room(self, endpoint: Endpoint, tokens: int) -> bool:
        """Whether one more request of so many tokens may start now. One alone may, however long it is."""
        now = timezone.now()
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
    """What an endpoint is doing: requests under way, those begun in the last minute, and the tokens of all these and of
    those that ended in it: an answer that takes longer than a minute counts until it has been whole for one.
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
