"""Personal links: find the participant for a view, or show the page for unknown links."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from webapp.base.http import HtmxHttpRequest, strip_nul
from webapp.studies import limits
from webapp.studies.models import Participant

PersonalView = Callable[[HtmxHttpRequest, Participant], HttpResponse]


def require_participant(view: PersonalView) -> Callable[..., HttpResponse]:
    @never_cache
    @wraps(view)
    def wrapper(request: HttpRequest, token: str) -> HttpResponse:
        participant = Participant.objects.select_related("study").filter(token=strip_nul(token)).first()
        if participant is None:
            many = limits.exceeds_limit(request, "link", limits.WRONG_LINKS)
            return render(request, "studio/unknown.html", {"many": many}, status=429 if many else 404)
        return view(cast(HtmxHttpRequest, request), participant)

    return wrapper
