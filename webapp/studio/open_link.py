"""The open link of a study, for recruitment sites and posters."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from webapp.base.http import read_browser_secret, strip_nul
from webapp.studies import limits, recruitment
from webapp.studies.agreement import check_agreement
from webapp.studies.models import Outcome, Participant, Study
from webapp.studies.opening import find_closed_reason
from webapp.studies.recruitment import Arrival, EnrolmentRefused
from webapp.studies.texts.localizing import localize_study
from webapp.studio.page_language import use_language
from webapp.studio.presentations import make_lead

TITLES = {
    "consent": gettext_noop("Taking part"),
    "missing": gettext_noop("Something is missing"),
    "bad": gettext_noop("Not right"),
    "many": gettext_noop("Too many at once"),
    "elsewhere": gettext_noop("You have begun"),
}
CLOSED = gettext_noop("Closed")
STATUS = {"missing": 400, "bad": 400, "many": 429, "elsewhere": 403}


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def enter_study(request: HttpRequest, link: str) -> HttpResponse:
    """The open link. Looking at it enrols nobody; agreeing does."""
    study = Study.objects.filter(open_link=strip_nul(link)).first()
    if study is None:
        many = limits.exceeds_limit(request, "link", limits.WRONG_LINKS)
        return render(request, "studio/unknown.html", {"many": many}, status=429 if many else 404)
    language = use_language(request, study.offered_languages)
    localize_study(study, language)
    arrival = recruitment.read_arrival(study, request.GET)
    if arrival.problem:
        return _render_page(request, study, arrival.problem, parameter=arrival.parameter)
    person = _find_participant(request, study, arrival)
    if person:
        return redirect(person)
    if arrival.external_id and recruitment.find_recruited(study, arrival.external_id):
        return _refuse_other_browser(request, study)
    reason = find_closed_reason(study) if study.recruiting else "stopped"
    if reason:
        return _render_page(request, study, reason)
    if request.method == "POST" and "decline" in request.POST:
        return _render_page(request, study, "declined")
    if request.method == "POST" and check_agreement(request, study.consent_hash):
        return _enrol(request, study, arrival, language)
    return _render_page(request, study, "consent")


def _render_page(request: HttpRequest, study: Study, reason: str, **more: Any) -> HttpResponse:
    turned = recruitment.find_code(study, Outcome.NOT_ELIGIBLE) if reason in ("declined", "full", "late") else None
    context = {
        "study": study,
        "reason": reason,
        "title": _(TITLES.get(reason, CLOSED)),
        "lead": make_lead(study.arms.all(), study.experiments_each, study.interleaved),
        "action": request.get_full_path(),
        "open_link": True,
        "code": turned,
        **more,
    }
    return render(request, "studio/open_link.html", context, status=STATUS.get(reason, 200))


def _find_participant(request: HttpRequest, study: Study, arrival: Arrival) -> Participant | None:
    """The participant with the recruitment site's session id or with this browser's secret."""
    tokens = recruitment.derive_tokens(
        study.open_link, arrival.external_id, arrival.session, read_browser_secret(request)
    )
    mine = Participant.objects.filter(study=study, token__in=[*tokens, request.session.get(f"study {study.pk}", "")])
    if arrival.external_id:
        return mine.filter(recruit__external_id=arrival.external_id).first()
    return mine.filter(recruit=None).first()


def _refuse_other_browser(request: HttpRequest, study: Study) -> HttpResponse:
    """Refuse the id of somebody who began in another browser: an id alone opens nothing, because it is no secret."""
    many = limits.exceeds_limit(request, "link", limits.WRONG_LINKS)
    return _render_page(request, study, "many" if many else "elsewhere")


def _enrol(request: HttpRequest, study: Study, arrival: Arrival, language: str) -> HttpResponse:
    if limits.exceeds_limit(request, "join", limits.JOINS):
        return _render_page(request, study, "many")
    try:
        person = recruitment.enrol(study, arrival, read_browser_secret(request), language)
    except EnrolmentRefused as reason:
        return _render_page(request, study, str(reason))
    request.session[f"study {study.pk}"] = person.token
    return redirect(person)


urlpatterns = [
    path("take/<str:link>/", enter_study, name="take"),
]
