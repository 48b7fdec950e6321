"""The studio: the home page and a participant's pages, except voting."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import get_language
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from webapp.archive import erasure
from webapp.base.http import HtmxHttpRequest
from webapp.experiments.models import Experiment
from webapp.live.consumers import compute_ask_seconds
from webapp.problems import lookup
from webapp.review import ballot, pairs, turns
from webapp.studies import assigning, enrolment, limits, recruitment
from webapp.studies.agreement import check_agreement
from webapp.studies.models import Arm, Outcome, Participant, Study
from webapp.studio.pages import Page, find_page, find_round, prefetch_places
from webapp.studio.personal_links import require_participant
from webapp.studio.step_views import add_session_state
from webapp.studio.words import describe_plan

ASK_AGAIN = "X-Ask-Again"
"""The header that tells a page after how many seconds it should ask for its progress again."""


@never_cache
@require_safe
def show_home(request: HttpRequest) -> HttpResponse:
    return render(request, "studio/home.html", {"cards": _make_cards(request)})


def _make_cards(request: HttpRequest) -> list[tuple[Arm, str, Participant | None]]:
    """The first arm of each demonstration, its picture, and the browser's participant in it."""
    studies = Study.objects.filter(demonstration=True, status=Study.Status.OPEN).order_by("created_at")
    first = [arm for study in studies if (arm := study.arms.select_related("study").first())]
    return [(arm, lookup.find_still(arm.task_info), _find_own_participant(request, arm.study)) for arm in first]


@require_POST
def start_demonstration(request: HttpRequest, study_id: int) -> HttpResponse:
    study = get_object_or_404(Study, pk=study_id, demonstration=True, status=Study.Status.OPEN)
    participant = _find_own_participant(request, study)
    if participant is None:
        if limits.exceeds_limit(request, "start", limits.STARTS):
            return render(request, "studio/home.html", {"cards": _make_cards(request), "many": True}, status=429)
        participant = enrolment.create_participant(study)
    request.session[f"demonstration {study.pk}"] = participant.token
    return redirect(participant)


@require_safe
@require_participant
def show_studio(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    return render_page(request, participant)


@require_safe
@require_participant
def update_page(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    """What changed since the page was rendered: nothing, its progress, or the whole page."""
    page = _find_page(request, participant)
    if page.version != request.GET.get("version"):
        response = render_page(request, participant, page)
        response["HX-Retarget"], response["HX-Reswap"] = "#state", "innerHTML"
        return response
    if page.name == "waiting":
        response = render(request, "studio/partials/progress.html", page.context)
        response["HX-Retarget"], response["HX-Reswap"] = "#progress", "innerHTML"
    else:
        response = HttpResponse(status=204)
    response[ASK_AGAIN] = str(compute_ask_seconds())
    return response


@require_POST
@require_participant
def give_consent(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    if find_page(participant).name != "consent":
        return redirect(participant)
    if check_agreement(request, participant.study.consent_hash):
        enrolment.accept_consent(participant, get_language() or "")  # if there is no room, the next page says so
    return redirect(participant)


@require_POST
@require_participant
def confirm_instructions(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    enrolment.mark_instructed(participant)
    return redirect(participant)


@require_participant
def leave_study(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    if request.method == "POST":
        enrolment.withdraw(participant)
        if request.POST.get("erase") == "yes":
            return _erase(request, participant)
    if participant.withdrawn_at:
        return redirect(participant)
    return render(request, "studio/leave.html", {"participant": participant, "study": participant.study})


def _erase(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    """Delete the person's data and show the last page."""
    study, code = participant.study, recruitment.find_own_code(participant, Outcome.WITHDRAWN)
    erasure.erase(participant)
    context = {"study": study, "code": code}
    return render(request, "studio/erased.html", context)


def render_page(request: HtmxHttpRequest, participant: Participant, page: Page | None = None) -> HttpResponse:
    """The page of the participant's state: whole, or its inside for HTMX."""
    page = page or _find_page(request, participant)
    current = participant.current
    experiment = current.experiment if current else None
    plan = experiment or (current.arm if current else participant.study.arms.first())
    context = {
        "participant": participant,
        "study": participant.study,
        "plan": plan,
        "words": describe_plan(plan) if plan else None,
        "place": current,
        "connected": current is not None and participant.withdrawn_at is None,
        "page": page,
        "round": find_round(participant),
        "ask_seconds": compute_ask_seconds(),
        **page.context,
    }
    return render(request, page.template if request.htmx else "studio/page.html", context)


def _find_page(request: HttpRequest, participant: Participant) -> Page:
    """The participant's page, after locking votes that can no longer be undone and beginning or ending what is due."""
    ballot.lock_votes_around(participant)
    prefetch_places(participant)
    place = participant.current
    experiment = place.experiment if place else None
    if experiment is not None and experiment.asks_pairs and pairs.settle_due_sessions([experiment]):
        experiment.refresh_from_db()
    if place and (experiment is None or experiment.status in enrolment.ENDED):
        alone = Participant.objects.filter(pk=participant.pk)
        begun = assigning.begin_due(alone)
        if enrolment.finish_due(alone):
            participant.refresh_from_db(fields=["outcome", "finished_at"])
        if begun:
            prefetch_places(participant)
    if participant.instructed_at and turns.move_on(participant):
        prefetch_places(participant)
    return add_session_state(find_page(participant), participant, request.session)


def _find_own_participant(request: HttpRequest, study: Study) -> Participant | None:
    """The participant that this browser began with, unless their part has ended."""
    token = request.session.get(f"demonstration {study.pk}")
    mine = Participant.objects.filter(token=token, study=study, outcome="", finished_at=None, withdrawn_at=None)
    return mine.exclude(assignments__experiment__status=Experiment.Status.CANCELLED).first()
