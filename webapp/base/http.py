"""Requests and responses of views."""

from __future__ import annotations

import os
import re

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django_htmx.middleware import HtmxDetails

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
"""Requests that change nothing."""


class HtmxHttpRequest(HttpRequest):
    htmx: HtmxDetails


def read_browser_secret(request: HttpRequest) -> str:
    """The browser's CSRF secret, the same for every form that it sends."""
    get_token(request)
    return str(request.META["CSRF_COOKIE"])


def strip_nul(text: str) -> str:
    """The text without NUL characters, which PostgreSQL refuses."""
    return text.replace("\0", "")


def get_site_address(request: HttpRequest) -> str:
    """The site's address for participants: PREFINE_URL, or the address of the experimenter's request."""
    address = settings.SITE_URL if "PREFINE_URL" in os.environ else request.build_absolute_uri("/")
    return address.rstrip("/")


def respond_with_download(content: str | bytes, kind: str, name: str) -> HttpResponse:
    """A file to keep, under this name in plain letters."""
    stem, _, ending = name.rpartition(".")
    plain = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")
    headers = {"Content-Disposition": f'attachment; filename="{plain}.{ending}"'}
    return HttpResponse(content, content_type=kind, headers=headers)
