"""The page after too many wrong passwords, which django-axes counts by account and by address."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

from axes.models import AccessAttempt
from django.conf import settings
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from webapp.accounts.addresses import read_client_address


def respond_locked_out(request: HttpRequest, *_: Any) -> HttpResponse:
    minutes = max(1, math.ceil(_find_time_left(request) / timedelta(minutes=1)))
    return render(request, "bench/account/locked.html", {"minutes": minutes}, status=429)


def _find_time_left(request: HttpRequest) -> timedelta:
    """Until django-axes forgets the last failed attempt of this account or address."""
    credentials = getattr(request, "axes_credentials", None) or {}
    mine = Q(ip_address=read_client_address(request)) | Q(username=credentials.get("username", ""))
    cooling: timedelta = settings.AXES_COOLOFF_TIME
    counted = AccessAttempt.objects.filter(mine, attempt_time__gt=timezone.now() - cooling)
    last = counted.order_by("-attempt_time").values_list("attempt_time", flat=True).first()
    return last + cooling - timezone.now() if last else timedelta(0)
