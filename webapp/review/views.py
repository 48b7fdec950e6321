"""Voting: cast, take back, report a clip that does not play."""

from __future__ import annotations

import json

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from webapp.experiments import events
from webapp.experiments.models import Experiment
from webapp.http import HtmxHttpRequest, without_nul
from webapp.review import ballot
from webapp.review.models import ClipTicket, Vote
from webapp.studies.models import Participant
from webapp.studies.personal import personal


@require_POST
@personal
def vote(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    if participant.withdrawn_at:
        return redirect(participant)
    cast = ballot.cast(participant, without_nul(request.POST.get("screening", "")), _choice(request))
    if cast.message:
        messages.info(request, cast.message)
    return redirect(participant)


@require_POST
@personal
def undo(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    """Take back the last vote; names it, so that a second press takes back nothing else."""
    token = without_nul(request.POST.get("screening", ""))
    standing = (
        Vote.objects.filter(screening__token=token, screening__participant=participant, undone_at=None)
        .select_related("request__experiment")
        .first()
    )
    if standing is None or participant.withdrawn_at:
        return redirect(participant)
    if not ballot.undo(standing):
        messages.info(request, "It was too late to take that choice back: it has been counted.")
    return redirect(participant)


@require_POST
@personal
def report(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    ticket = ClipTicket.objects.filter(participant=participant, token=without_nul(request.POST.get("clip", ""))).first()
    experiment = Experiment.objects.filter(participant=participant).first()
    if ticket is None or experiment is None or participant.withdrawn_at:
        return HttpResponse("This video is not on your page any more.", status=404)
    said = f"{participant.label} says that a clip does not play."
    events.emit(experiment, "reported", said, payload={"clip": ticket.clip_id})
    return HttpResponse("Thank you. The researcher has been told. You can still choose among the others.")


def _choice(request: HtmxHttpRequest) -> ballot.Choice:
    return ballot.Choice(
        best=request.POST.get("best", ""),
        worst=request.POST.get("worst", ""),
        cannot_tell="cannot_tell" in request.POST,
        reason=request.POST.get("reason", ""),
        tags=tuple(request.POST.getlist("tags")),
        client=_client(request.POST.get("client", "")),
    )


def _client(text: str) -> dict[str, int]:
    """What the browser measured, as far as it is plain numbers."""
    try:
        data = json.loads(text or "{}")
    except ValueError:
        return {}
    if not isinstance(data, dict):
        return {}
    return {key: value for key, value in data.items() if type(value) is int and 0 <= value < 2**53}
