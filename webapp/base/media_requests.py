"""Films and stills are answered without what pages need: a session, a language, forms, the rights of staff.

A page of six films asks for twelve files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve

from webapp.base.error_pages import respond_while_away
from webapp.base.page_threads import CLIPS, find_group

View = TypeVar("View", bound=Callable[..., Any])


def skip_page_middleware(view: View) -> View:
    """For a view that looks at nothing but the ticket in its address and the headers about ranges."""
    view.skips_page_middleware = True  # type: ignore[attr-defined]
    return view


class MediaMiddleware:
    """Answers films and stills itself. Stands behind the middleware that every answer needs, before that of pages."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if find_group(request) != CLIPS:
            return self.get_response(request)
        try:
            match = resolve(request.path_info)
        except Resolver404:
            return self.get_response(request)
        if not hasattr(match.func, "skips_page_middleware"):
            return self.get_response(request)
        request.get_host()  # refuses unknown names, as for pages
        request.resolver_match = match  # the name under which it is counted
        try:
            answer: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
        except Exception as error:  # as AwayMiddleware does for pages: Django would log a traceback for each film
            waits = respond_while_away(request, error)
            if waits is None:
                raise
            return waits
        return answer
