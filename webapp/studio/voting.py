"""Views of voting: cast, undo, report a clip that does not play, save how a page was watched."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from webapp.base.http import HtmxHttpRequest, strip_nul
from webapp.experiments import events
from webapp.review import ballot, telemetry, trials
from webapp.review.models import ClipTicket, Vote
from webapp.review.screenings import SCREENING_BY_TOKEN, TRIAL_BY_TOKEN
from webapp.studies.models import Participant
from webapp.studio.pages import prefetch_places
from webapp.studio.personal_links import require_participant


@require_POST
@require_participant
def cast_vote(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    if participant.withdrawn_at:
        return redirect(participant)
    token = strip_nul(request.POST.get("screening", ""))
    trial = TRIAL_BY_TOKEN.find(participant.pk, token)
    if trial:
        messages.info(request, trials.save_answer(trial, _read_choice(request)) or _("Saved, thank you."))
        return redirect(participant)
    prefetch_places(participant)
    choice, experiment = _read_choice(request), participant.experiment
    if experiment is None or experiment.medium.filmed:  # answers are not watched
        choice = replace(choice, client=telemetry.WATCH_UNKNOWN | choice.client)
    cast = ballot.cast_vote(participant, token, choice)
    if cast.message:
        messages.info(request, cast.message)
    return redirect(participant)


@require_POST
@require_participant
def save_viewing(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    """Save how a page has been watched so far; it reports from time to time and when it is left."""
    token = strip_nul(request.POST.get("screening", ""))
    shown = SCREENING_BY_TOKEN.find(participant.pk, token) or TRIAL_BY_TOKEN.find(participant.pk, token)
    if shown is None or participant.withdrawn_at:
        return HttpResponse(status=404)
    telemetry.save_viewing(
        shown, request.POST.get("sitting", ""), telemetry.parse_telemetry(request.POST.get("client", ""))
    )
    return HttpResponse(status=204)


@require_POST
@require_participant
def undo_vote(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    """Undo the vote of the screening that the form names, so that a second press undoes nothing else."""
    token = strip_nul(request.POST.get("screening", ""))
    standing = (
        Vote.objects.filter(screening__token=token, screening__participant=participant, undone_at=None)
        .select_related("request__experiment")
        .first()
    )
    if standing is None or participant.withdrawn_at:
        return redirect(participant)
    if not ballot.undo_vote(standing):
        messages.info(request, _("It was too late to take that choice back: it has been counted."))
    return redirect(participant)


@require_POST
@require_participant
def report_clip(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    ticket = ClipTicket.objects.filter(participant=participant, token=strip_nul(request.POST.get("clip", ""))).first()
    experiment = participant.experiment
    if ticket is None or experiment is None or participant.withdrawn_at:
        return HttpResponse(_("This video is not on your page any more."), status=404)
    text = f"{participant.label} says that a clip does not play."
    events.emit(experiment, "reported", text, payload={"clip": ticket.clip_id})
    return HttpResponse(_("Thank you. The researcher has been told. You can still choose among the others."))


def _read_choice(request: HtmxHttpRequest) -> ballot.Choice:
    return ballot.Choice(
        best=request.POST.get("best", ""),
        worst=request.POST.get("worst", ""),
        cannot_tell="cannot_tell" in request.POST,
        broken="broken" in request.POST,
        reason=request.POST.get("reason", ""),
        tags=tuple(request.POST.getlist("tags")),
        client=telemetry.parse_telemetry(request.POST.get("client", "")),
    )
