"""A page that tries again, where the database is locked or away or the store is away, in place of an error."""

from __future__ import annotations

import logging

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.deprecation import MiddlewareMixin

from webapp.base.http import SAFE_METHODS
from webapp.base.store_interface import StoreError

log = logging.getLogger(__name__)
SECONDS = 10


class AwayMiddleware(MiddlewareMixin):
    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        away = isinstance(error, OperationalError | InterfaceError | StoreError)
        if not away or (isinstance(error, StoreError) and error.permanent):
            return None
        log.error("the page waits: %s", error)
        answer = HttpResponse(render_to_string("500.html"), status=503, headers={"Retry-After": str(SECONDS)})
        if request.method in SAFE_METHODS:
            answer["Refresh"] = str(SECONDS)
        return answer
