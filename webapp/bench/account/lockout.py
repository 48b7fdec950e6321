"""What somebody reads who typed too many wrong passwords (django-axes counts them, by account and by address)."""

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

from webapp.accounts.addresses import client_address


def locked(request: HttpRequest, *_: Any) -> HttpResponse:
    minutes = max(1, math.ceil(_left(request) / timedelta(minutes=1)))
    return render(request, "bench/account/locked.html", {"minutes": minutes}, status=429)


def _left(request: HttpRequest) -> timedelta:
    """Until the last of the attempts that count against this account or address is forgotten."""
    credentials = getattr(request, "axes_credentials", None) or {}
    mine = Q(ip_address=client_address(request)) | Q(username=credentials.get("username", ""))
    cooling: timedelta = settings.AXES_COOLOFF_TIME
    counted = AccessAttempt.objects.filter(mine, attempt_time__gt=timezone.now() - cooling)
    last = counted.order_by("-attempt_time").values_list("attempt_time", flat=True).first()
    return last + cooling - timezone.now() if last else timedelta(0)
