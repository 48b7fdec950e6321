"""Addresses that models may not have: PREFINE_DENIED_NETWORKS keeps requests out of a lab's own network."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from django.conf import settings

from llm.errors import BadRequest


def require_allowed(base_url: str) -> None:
    """Raises BadRequest if the host of this address is, or has, an address in a denied network."""
    if not settings.DENIED_NETWORKS:
        return
    host = urlsplit(base_url).hostname or ""
    for address in _find_addresses(host):
        if any(address in network for network in settings.DENIED_NETWORKS):
            raise BadRequest(f"{host} is in a network that PREFINE_DENIED_NETWORKS keeps models out of")


def _find_addresses(host: str) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []  # the request itself says that there is no such host
    addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    return [getattr(address, "ipv4_mapped", None) or address for address in addresses]
