"""The studio: the home page and a participant's pages, except voting."""

from __future__ import annotations

from django.db.models import Prefetch, prefetch_related_objects
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from webapp.archive import erasure
from webapp.base.http import HtmxHttpRequest
from webapp.experiments.models import Experiment
from webapp.problems import lookup
from webapp.review import ballot
from webapp.studies import assigning, enrolment, limits, recruitment
from webapp.studies.agreement import check_agreement
from webapp.studies.models import Arm, Assignment, Outcome, Participant, Study
from webapp.studio.pages import Page, page_of, round_of
from webapp.studio.personal import personal
from webapp.studio.steps import in_this_browser
from webapp.studio.words import plan_words


@never_cache
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "studio/home.html", {"cards": _cards(request)})


def _cards(request: HttpRequest) -> list[tuple[Arm, str, Participant | None]]:
    """The first arm of each demonstration stands for it."""
    studies = Study.objects.filter(demonstration=True, status=Study.Status.OPEN).order_by("created_at")
    first = [arm for study in studies if (arm := study.arms.select_related("study").first())]
    return [(arm, lookup.find_still(arm.task_info), _own_link(request, arm.study)) for arm in first]


@require_POST
def start(request: HttpRequest, study_id: int) -> HttpResponse:
    study = get_object_or_404(Study, pk=study_id, demonstration=True, status=Study.Status.OPEN)
    participant = _own_link(request, study)
    if participant is None:
        if limits.exceeds_limit(request, "start", limits.STARTS):
            return render(request, "studio/home.html", {"cards": _cards(request), "many": True}, status=429)
        participant = enrolment.create_participant(study)
    request.session[f"demonstration {study.pk}"] = participant.token
    return redirect(participant)


@require_safe
@personal
def studio(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    return show(request, participant)


@require_safe
@personal
def live(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    """What changed since the page was drawn: nothing, its progress, or the whole page."""
    page = _current(request, participant)
    if page.version != request.GET.get("version"):
        response = show(request, participant, page)
        response["HX-Retarget"], response["HX-Reswap"] = "#state", "innerHTML"
        return response
    if page.name != "waiting":
        return HttpResponse(status=204)
    response = render(request, "studio/partials/progress.html", page.context)
    response["HX-Retarget"], response["HX-Reswap"] = "#progress", "innerHTML"
    return response


@require_POST
@personal
def consent(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    if page_of(participant).name != "consent":
        return redirect(participant)
    if check_agreement(request, participant.study.consent_hash):
        enrolment.accept_consent(participant)  # where there was no room, the page says so
    return redirect(participant)


@require_POST
@personal
def ready(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    enrolment.mark_instructed(participant)
    return redirect(participant)


@personal
def leave(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    if request.method == "POST":
        enrolment.withdraw(participant)
        if request.POST.get("erase") == "yes":
            return _erased(request, participant)
    if participant.withdrawn_at:
        return redirect(participant)
    return render(request, "studio/leave.html", {"participant": participant, "study": participant.study})


def _erased(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    """The last page of a person whose data is deleted."""
    study = participant.study
    erasure.erase(participant)
    context = {"study": study, "code": recruitment.find_code(study, Outcome.WITHDRAWN)}
    return render(request, "studio/erased.html", context)


def show(request: HtmxHttpRequest, participant: Participant, page: Page | None = None) -> HttpResponse:
    """The page of the state that the participant is in: whole, or its inside for HTMX."""
    page = page or _current(request, participant)
    current = participant.current
    experiment = current.experiment if current else None
    plan = experiment or (current.arm if current else participant.study.arms.first())
    context = {
        "participant": participant,
        "study": participant.study,
        "plan": plan,
        "words": plan_words(plan) if plan else None,
        "place": current,
        "connected": current is not None and participant.withdrawn_at is None,
        "page": page,
        "round": round_of(participant),
        **page.context,
    }
    return render(request, page.template if request.htmx else "studio/page.html", context)


def _current(request: HttpRequest, participant: Participant) -> Page:
    """The participant's page, after locking what can no longer be undone and noting who arrived at the end."""
    place = participant.current
    experiment = place.experiment if place else None
    if experiment:
        ballot.lock_due_votes(ballot.find_votes(experiment))
    if place and (experiment is None or experiment.status in enrolment.ENDED):
        alone = Participant.objects.filter(pk=participant.pk)
        assigning.begin_due(alone)
        if enrolment.finish_due(alone):
            participant.refresh_from_db()
    remember_places(participant)
    return in_this_browser(page_of(participant), participant, request.session)


def remember_places(participant: Participant) -> None:
    """A page asks a dozen times where its person is: from here on that is known."""
    places = Assignment.objects.select_related("arm", "experiment")
    prefetch_related_objects([participant], Prefetch("assignments", places))


def _own_link(request: HttpRequest, study: Study) -> Participant | None:
    """The link that this browser began with, while there is still something to do on it."""
    token = request.session.get(f"demonstration {study.pk}")
    mine = Participant.objects.filter(token=token, study=study, outcome="", finished_at=None, withdrawn_at=None)
    return mine.exclude(assignments__experiment__status=Experiment.Status.CANCELLED).first()
