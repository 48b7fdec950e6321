"""How often one address may do what costs us something. Counted in this process's memory: a restart forgives."""

from __future__ import annotations

import time

from django.core.cache import cache
from django.http import HttpRequest

from webapp.accounts.addresses import client_address

STARTS = 60
"""New demonstrations an hour: a whole class behind one address."""
JOINS = 300
"""Evaluators an hour by an open link, also with a recruitment id, which nobody checks: a lecture hall."""
WRONG_LINKS = 100
"""Links an hour that lead nowhere."""
PERIOD_SECONDS = 3600


def exceeded(request: HttpRequest, what: str, limit: int) -> bool:
    """Count this attempt of the request's address; whether it is one too many."""
    period = int(time.time()) // PERIOD_SECONDS
    key = f"{what}-{client_address(request)}-{period}"
    cache.add(key, 0, 2 * PERIOD_SECONDS)
    return cache.incr(key) > limit
