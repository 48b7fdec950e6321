"""Gives each request an id, which stands in every line of the log about it and in the response."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable

from django.dispatch import Signal
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from webapp.base import logs
from webapp.base.http import SAFE_METHODS

log = logging.getLogger(__name__)
METHODS = (*SAFE_METHODS, "POST")
HEADER = "X-Request-ID"
answered = Signal()
"""Sent after each request with `view`, its name; `method`; `status`; `seconds`."""


class RequestLogMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        number = uuid.uuid4().hex[:16]  # ours alone: visitors could put in what they like, also through a proxy
        with logs.note_context(request=number):
            response = self.get_response(request)
            seconds, view = time.perf_counter() - began, name_view(request)
            if request.method not in SAFE_METHODS or response.status_code >= 500:
                log.info("%s %s %d in %.0f ms", request.method, view, response.status_code, 1000 * seconds)
        method = request.method if request.method in METHODS else "other"
        answered.send(type(self), view=view, method=method, status=response.status_code, seconds=seconds)
        response[HEADER] = number
        return response


def name_view(request: HttpRequest) -> str:
    """The name of the view that answered, never the address, which may be personal."""
    match = request.resolver_match
    return match.view_name or "unnamed" if match else "other"
