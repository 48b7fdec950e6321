"""Views with which a participant asks for notices and stops them."""

from __future__ import annotations

import json
from pathlib import Path

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from webapp.base.http import HtmxHttpRequest, strip_nul
from webapp.notices import channels, email
from webapp.notices.models import Address, Subscription
from webapp.notices.push import is_acceptable
from webapp.studies import limits
from webapp.studies.models import Participant
from webapp.studio.personal_links import require_participant

CHANGES = 60
"""How many e-mail addresses and browsers one network address may add or remove an hour."""
MOST_BROWSERS = 10
WORKER = Path(settings.BASE_DIR) / "static" / "studio" / "sw.js"


class AddressForm(forms.Form):
    email = forms.EmailField(max_length=254)


@require_POST
@require_participant
def save_address(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    form = AddressForm(request.POST)
    if limits.exceeds_limit(request, "tell", CHANGES):
        return _respond(request, participant, _("Too many changes from here for now. Please try again a little later."))
    if not channels.find_offer(participant).email:
        return _respond(request, participant, _("E-mail is not offered here."))
    if not form.is_valid():
        return _respond(request, participant, _("That does not look like an e-mail address. Nothing was kept."))
    _save_timezone(participant, request.POST.get("timezone", ""))
    Address.objects.update_or_create(participant=participant, defaults={"email": form.cleaned_data["email"]})
    return _respond(request, participant)


def _save_timezone(participant: Participant, name: str) -> None:
    """Save the person's time zone, if the browser gave one."""
    zone = email.find_timezone(strip_nul(name)[:64]).key
    if name and zone != participant.timezone:
        participant.timezone = zone
        participant.save(update_fields=["timezone"])


@require_POST
@require_participant
def delete_address(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    Address.objects.filter(participant=participant).delete()
    return _respond(request, participant, _("Your address is deleted."))


@require_POST
@require_participant
def subscribe(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    """Save the subscription that the browser got from its push service."""
    if limits.exceeds_limit(request, "tell", CHANGES):
        return HttpResponse(_("Too many changes from here for now."), status=429, content_type="text/plain")
    endpoint, p256dh, auth = _read_subscription(request)
    mine = Subscription.objects.filter(participant=participant)
    if (
        not channels.find_offer(participant).push
        or not is_acceptable(endpoint, p256dh, auth)
        or mine.count() >= MOST_BROWSERS
    ):
        return HttpResponse(_("This browser cannot be told."), status=400, content_type="text/plain")
    mine.update_or_create(endpoint=endpoint, defaults={"participant": participant, "p256dh": p256dh, "auth": auth})
    return HttpResponse(status=204)


@require_POST
@require_participant
def unsubscribe(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    endpoint = _read_subscription(request)[0]
    Subscription.objects.filter(participant=participant, endpoint=endpoint).delete()
    return HttpResponse(status=204)


def _read_subscription(request: HttpRequest) -> tuple[str, str, str]:
    """Endpoint, key and secret; empty if any of them is not text."""
    try:
        data = json.loads(request.body[:4000])
        parts = (data["endpoint"], data.get("keys", {}).get("p256dh", ""), data.get("keys", {}).get("auth", ""))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "", "", ""
    if not all(isinstance(part, str) for part in parts):
        return "", "", ""
    endpoint, p256dh, auth = (strip_nul(part) for part in parts)
    return endpoint, p256dh, auth


def _respond(request: HtmxHttpRequest, participant: Participant, reply: str = "") -> HttpResponse:
    """The part of the page; without a script, the whole page."""
    if request.htmx:
        context = {"participant": participant, "study": participant.study, "reply": reply}
        return render(request, "studio/notices/email.html", context)
    if reply:
        messages.info(request, reply)
    return redirect(participant)


@csrf_exempt  # mail programs press this for the person (RFC 8058); the link itself is the permission
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def stop_messages(request: HttpRequest, token: str) -> HttpResponse:
    """The page of the link in every message; mail programs with a button of their own post to it directly."""
    address = Address.objects.filter(token=strip_nul(token)).first()
    if request.method == "POST" and address:
        address.delete()
        address = None
    return render(request, "studio/notices/stop.html", {"address": address})


@require_safe
def serve_worker(request: HttpRequest) -> HttpResponse:
    """Serve the service worker at the top of the site, because it controls only pages below its own address."""
    headers = {"Cache-Control": "no-cache"}
    words = json.dumps({"ready": _("Your next round is ready")})
    script = WORKER.read_text().replace("const WORDS = {};", f"const WORDS = {words};")
    return HttpResponse(script, content_type="text/javascript; charset=utf-8", headers=headers)
