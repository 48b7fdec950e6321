"""Compress pages and the words of their scripts: films, pictures and downloads keep their lengths, which range requests
need.
"""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

COMPRESSED = ("text/html", "text/javascript")


class PageCompression(GZipMiddleware):
    """Django's middleware adds random bytes, so that the size of a page does not reveal its secrets (BREACH)."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.streaming or not response.get("Content-Type", "").startswith(COMPRESSED):
            return response
        compressed: HttpResponseBase = super().process_response(request, response)
        return compressed
