"""Personal links: find the participant for a view, or show the page for unknown links."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from webapp.base.http import HtmxHttpRequest, strip_nul
from webapp.base.prepared import Prepared
from webapp.studies import limits
from webapp.studies.models import Participant
from webapp.studies.texts.localizing import localize_study
from webapp.studio.page_language import find_choice, use_language

PersonalView = Callable[[HtmxHttpRequest, Participant], HttpResponse]
PARTICIPANT_BY_LINK = Prepared(lambda token: Participant.objects.select_related("study").filter(token=token))


def require_participant(view: PersonalView) -> Callable[..., HttpResponse]:
    @never_cache
    @wraps(view)
    def wrapper(request: HttpRequest, token: str) -> HttpResponse:
        participant = PARTICIPANT_BY_LINK.find(strip_nul(token))
        if participant is None:
            many = limits.exceeds_limit(request, "link", limits.WRONG_LINKS)
            return render(request, "studio/unknown.html", {"many": many}, status=429 if many else 404)
        _speak(request, participant)
        return view(cast(HtmxHttpRequest, request), participant)

    return wrapper


def _speak(request: HttpRequest, participant: Participant) -> None:
    """Show the page in the person's language, and keep the language that they chose for their messages."""
    language = use_language(request, participant.study.offered_languages, participant.language)
    if participant.consented_at and language == find_choice(request) != participant.language:
        Participant.objects.filter(pk=participant.pk).update(language=language)
    localize_study(participant.study, language)
