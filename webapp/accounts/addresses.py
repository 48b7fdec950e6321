"""The client's address, from X-Forwarded-For as far as it can be trusted."""

from __future__ import annotations

import ipaddress

from django.conf import settings
from django.http import HttpRequest


def read_client_address(request: HttpRequest) -> str:
    """The address that limits count.

    Each of the PREFINE_PROXIES proxies has appended its client's address to X-Forwarded-For, so the client's is that
    many places from the right. Entries further left can be forged. An IPv6 address counts as its /64 network, because
    one person usually has a whole one.
    """
    address = request.META.get("REMOTE_ADDR", "")
    if settings.PROXIES:
        hops = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")]
        if len(hops) >= settings.PROXIES:
            address = hops[-settings.PROXIES]
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "0.0.0.0"  # a unix socket, or a proxy without X-Forwarded-For: all count as one address
    if isinstance(parsed, ipaddress.IPv6Address):
        parsed = parsed.ipv4_mapped or ipaddress.ip_network((parsed, 64), strict=False).network_address
    return str(parsed)
