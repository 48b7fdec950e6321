"""How a participant says how to be told, and how to stop that."""

from __future__ import annotations

import json
from pathlib import Path

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from webapp.base.http import HtmxHttpRequest, strip_nul
from webapp.notices import channels, email
from webapp.notices.models import Address, Subscription
from webapp.notices.push import acceptable
from webapp.studies import limits
from webapp.studies.models import Participant
from webapp.studio.personal import personal

CHANGES = 60
"""Addresses and browsers an hour that one network address may leave or take back."""
MOST_BROWSERS = 10
WORKER = Path(settings.BASE_DIR) / "static" / "studio" / "sw.js"


class AddressForm(forms.Form):
    email = forms.EmailField(max_length=254)


@require_POST
@personal
def leave_address(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    form = AddressForm(request.POST)
    if limits.exceeds_limit(request, "tell", CHANGES):
        return _answer(request, participant, "Too many changes from here for now. Please try again a little later.")
    if not channels.of(participant).email:
        return _answer(request, participant, "E-mail is not offered here.")
    if not form.is_valid():
        return _answer(request, participant, "That does not look like an e-mail address. Nothing was kept.")
    _keep_zone(participant, request.POST.get("timezone", ""))
    Address.objects.update_or_create(participant=participant, defaults={"email": form.cleaned_data["email"]})
    return _answer(request, participant)


def _keep_zone(participant: Participant, name: str) -> None:
    """The person's own time zone, where the browser named one."""
    zone = email.zone_of(strip_nul(name)[:64]).key
    if name and zone != participant.timezone:
        participant.timezone = zone
        participant.save(update_fields=["timezone"])


@require_POST
@personal
def take_address_back(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    Address.objects.filter(participant=participant).delete()
    return _answer(request, participant, "Your address is deleted.")


@require_POST
@personal
def subscribe(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    """What the browser's push service gave it, as it is."""
    if limits.exceeds_limit(request, "tell", CHANGES):
        return HttpResponse("Too many changes from here for now.", status=429, content_type="text/plain")
    endpoint, p256dh, auth = _subscription(request)
    mine = Subscription.objects.filter(participant=participant)
    if not channels.of(participant).push or not acceptable(endpoint, p256dh, auth) or mine.count() >= MOST_BROWSERS:
        return HttpResponse("This browser cannot be told.", status=400, content_type="text/plain")
    mine.update_or_create(endpoint=endpoint, defaults={"participant": participant, "p256dh": p256dh, "auth": auth})
    return HttpResponse(status=204)


@require_POST
@personal
def unsubscribe(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    endpoint = _subscription(request)[0]
    Subscription.objects.filter(participant=participant, endpoint=endpoint).delete()
    return HttpResponse(status=204)


def _subscription(request: HttpRequest) -> tuple[str, str, str]:
    """Endpoint, key and secret; empty where they are not given as text."""
    try:
        data = json.loads(request.body[:4000])
        parts = (data["endpoint"], data.get("keys", {}).get("p256dh", ""), data.get("keys", {}).get("auth", ""))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "", "", ""
    if not all(isinstance(part, str) for part in parts):
        return "", "", ""
    endpoint, p256dh, auth = (strip_nul(part) for part in parts)
    return endpoint, p256dh, auth


def _answer(request: HtmxHttpRequest, participant: Participant, said: str = "") -> HttpResponse:
    """The part of the page; the whole page where there is no script."""
    if request.htmx:
        context = {"participant": participant, "study": participant.study, "said": said}
        return render(request, "studio/notices/email.html", context)
    if said:
        messages.info(request, said)
    return redirect(participant)


@csrf_exempt  # mail programs press this for the person (RFC 8058); the link itself is the permission
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def stop(request: HttpRequest, token: str) -> HttpResponse:
    """From a message: one button, or none where the mail program has one. An unknown link has nothing left to stop."""
    address = Address.objects.filter(token=strip_nul(token)).first()
    if request.method == "POST" and address:
        address.delete()
        address = None
    return render(request, "studio/notices/stop.html", {"address": address})


@require_safe
def worker(request: HttpRequest) -> HttpResponse:
    """At the top of the site, because a service worker reaches no further up than its own address."""
    headers = {"Cache-Control": "no-cache"}
    return HttpResponse(WORKER.read_bytes(), content_type="text/javascript; charset=utf-8", headers=headers)
