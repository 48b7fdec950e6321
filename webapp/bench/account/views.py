"""The page of a staff member's own account: the second factor."""

from __future__ import annotations

from typing import Any

import django_otp
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from webapp.accounts import roles, sessions, twofactor
from webapp.accounts.forms import WRONG_CODE
from webapp.audit import record


@never_cache
@require_safe
def account(request: HttpRequest) -> HttpResponse:
    return _render_page(request)


def _render_page(request: HttpRequest, **more: Any) -> HttpResponse:
    user = request.user
    assert isinstance(user, User)
    context = {"role": roles.get_role(user), "on": twofactor.find_app(user), "required": settings.REQUIRE_2FA, **more}
    context["sessions"] = sessions.list_sessions(user, request.session.session_key)
    if context["on"]:
        context["left"] = twofactor.count_recovery_codes(user)
    else:
        device = twofactor.begin_setup(user)
        context |= {"picture": twofactor.draw_qr_code(device), "key": twofactor.format_key(device)}
    return render(request, "bench/account/account.html", context)


@never_cache
@require_POST
def turn_on(request: HttpRequest) -> HttpResponse:
    user = request.user
    assert isinstance(user, User)
    codes = twofactor.confirm_setup(user, request.POST.get("code", ""))
    if codes is None:
        messages.error(request, "That code is not the one that the app shows now. Is the phone's clock right?")
        return redirect("account:account")
    device = twofactor.find_app(user)
    assert device is not None
    django_otp.login(request, device)
    record(user, "turned on two-factor", user)
    return _render_page(request, codes=codes)


@never_cache
@require_POST
def new_codes(request: HttpRequest) -> HttpResponse:
    user = request.user
    assert isinstance(user, User)
    if twofactor.verify_code(user, request.POST.get("code", "")) is None:
        messages.error(request, WRONG_CODE)
        return redirect("account:account")
    record(user, "drew new recovery codes", user)
    return _render_page(request, codes=twofactor.renew_recovery_codes(user))


@require_POST
def turn_off(request: HttpRequest) -> HttpResponse:
    user = request.user
    assert isinstance(user, User)
    if twofactor.verify_code(user, request.POST.get("code", "")) is None:
        messages.error(request, WRONG_CODE)
    else:
        twofactor.remove_second_factor(user)
        record(user, "turned off two-factor", user)
        messages.success(request, "Signing in needs your password alone now.")
    return redirect("account:account")


@require_POST
def end_session(request: HttpRequest, name: str) -> HttpResponse:
    user = request.user
    assert isinstance(user, User)
    if sessions.end_session(user, name):
        record(user, "ended a session", user)
        messages.success(request, "That browser is signed out.")
    else:
        messages.error(request, "That session has ended already.")
    return redirect("account:account")
