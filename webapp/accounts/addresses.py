"""Where a request comes from: the one place that decides whom to believe."""

from __future__ import annotations

import ipaddress

from django.conf import settings
from django.http import HttpRequest


def read_client_address(request: HttpRequest) -> str:
    """The address that limits are counted by.

    X-Forwarded-For is believed only as far as PREFINE_PROXIES says: each of so many proxies of ours has appended the
    address that it was asked by, so the client's is that many places from the right. What stands further left, anybody
    can have written. An IPv6 address stands for its network of 64 bits, which one person has all of.
    """
    address = request.META.get("REMOTE_ADDR", "")
    if settings.PROXIES:
        told = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")]
        if len(told) >= settings.PROXIES:
            address = told[-settings.PROXIES]
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "0.0.0.0"  # a unix socket, or a proxy that is not set up: all of them together
    if isinstance(parsed, ipaddress.IPv6Address):
        parsed = parsed.ipv4_mapped or ipaddress.ip_network((parsed, 64), strict=False).network_address
    return str(parsed)
