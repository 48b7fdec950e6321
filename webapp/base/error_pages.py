"""Pages in place of an error: one with the request's number, and one that waits for a part that is away."""

from __future__ import annotations

import logging
import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.deprecation import MiddlewareMixin

from webapp.base import logs
from webapp.base.http import SAFE_METHODS
from webapp.base.store_interface import StoreError

log = logging.getLogger(__name__)
SECONDS = 10


def show_error(request: HttpRequest) -> HttpResponse:
    """Django's handler of exceptions. The number stands in the lines of the log about this request."""
    if is_away(sys.exception()):  # in middleware, whose exceptions no other middleware is told
        return ask_to_wait(request)
    return HttpResponse(render_to_string("500.html", {"number": logs.read_context().get("request", "")}), status=500)


def is_away(error: BaseException | None) -> bool:
    """Whether the database is locked, full or away, or the store is full or away."""
    if isinstance(error, StoreError):
        return not error.permanent
    return isinstance(error, OperationalError | InterfaceError)


def ask_to_wait(request: HttpRequest) -> HttpResponse:
    """A page that tries again, or says to press the button again."""
    again = request.method in SAFE_METHODS
    headers = {"Retry-After": str(SECONDS), "Cache-Control": "no-store"}
    if again:
        headers["Refresh"] = str(SECONDS)
    return HttpResponse(render_to_string("503.html", {"again": again}), status=503, headers=headers)


def respond_while_away(request: HttpRequest, error: Exception) -> HttpResponse | None:
    """The page that tries again, where the database or the store is away; None for any other error."""
    if not is_away(error):
        return None
    log.error("the page waits: %s", error)
    return ask_to_wait(request)


class AwayMiddleware(MiddlewareMixin):
    """Where the database is locked or away or the store is away, answers with a page that tries again."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        return respond_while_away(request, error)
