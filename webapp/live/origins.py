"""Which pages may open a websocket: the site's own. A browser sends its cookies from every other page, too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import validate_host
from django.utils.http import is_same_domain

Application = Callable[[dict[str, Any], Callable[..., Any], Callable[..., Any]], Awaitable[None]]


class OwnOriginOnly:
    """Refuses websockets from pages of another scheme, host or port. (Channels' validator ignores the port.)"""

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        headers = {name.lower(): value.decode("latin-1").lower() for name, value in scope["headers"]}
        own = is_own_origin(headers.get(b"origin", ""), headers.get(b"host", ""))
        await (self.application if own else WebsocketDenier())(scope, receive, send)


def is_own_origin(origin: str, host: str) -> bool:
    """As for forms: the address at which the site was reached, or one of PREFINE_ORIGINS."""
    try:
        parts = urlsplit(origin)
        name = parts.hostname
    except ValueError:
        return False
    if parts.scheme not in ("http", "https") or not name:
        return False
    for trusted in map(urlsplit, settings.CSRF_TRUSTED_ORIGINS):
        if parts.scheme == trusted.scheme and is_same_domain(parts.netloc, trusted.netloc.lstrip("*")):
            return True
    bracketed = f"[{name}]" if ":" in name else name
    return parts.netloc == host and validate_host(bracketed, settings.ALLOWED_HOSTS)
