"""How often one network address may take an expensive action. A restart forgets the counts."""

from __future__ import annotations

import time

from django.core.cache import cache
from django.http import HttpRequest

from webapp.accounts.addresses import read_client_address

STARTS = 60
"""New demonstrations an hour: enough for a class behind one address."""
JOINS = 300
"""People an hour who join by an open link, with or without a recruitment id: enough for a lecture hall."""
WRONG_LINKS = 100
"""Unknown links an hour."""
PERIOD_SECONDS = 3600


def exceeds_limit(request: HttpRequest, action: str, limit: int) -> bool:
    """Count this attempt of the request's address. Returns whether it goes over the limit."""
    period = int(time.time()) // PERIOD_SECONDS
    key = f"{action}-{read_client_address(request)}-{period}"
    cache.add(key, 0, 2 * PERIOD_SECONDS)
    return cache.incr(key) > limit
