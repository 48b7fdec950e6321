"""Protects views for staff."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.views import redirect_to_login
from django.http import HttpResponse
from django.urls import reverse

from webapp.base.http import HtmxHttpRequest

P = ParamSpec("P")
StaffView = Callable[Concatenate[HtmxHttpRequest, P], HttpResponse]


def staff_only(view: StaffView[P]) -> StaffView[P]:
    """Allow active staff only. An HTMX request of a signed-out page reloads the page, which leads to the sign-in."""

    @wraps(view)
    def wrapper(request: HtmxHttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if request.user.is_active and request.user.is_staff:
            return view(request, *args, **kwargs)
        return _sign_in(request)

    return wrapper


def _sign_in(request: HtmxHttpRequest) -> HttpResponse:
    if request.htmx:
        return HttpResponse(status=401, headers={"HX-Refresh": "true"})
    return redirect_to_login(request.get_full_path(), reverse("admin:login"))
