"""What a view receives."""

from __future__ import annotations

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails


class HtmxHttpRequest(HttpRequest):
    htmx: HtmxDetails


def without_nul(text: str) -> str:
    """The text without NUL, which PostgreSQL takes nowhere."""
    return text.replace("\0", "")
