"""Checks of `manage.py check --deploy`."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register


@register(Tags.security, deploy=True)
def check_second_factor(**_: Any) -> list[CheckMessage]:
    if settings.REQUIRE_2FA:
        return []
    hint = "Set PREFINE_REQUIRE_2FA=1: a password that leaked then opens nothing by itself."
    return [Warning("Staff may sign in without a second factor.", hint=hint, id="prefine.W001")]
