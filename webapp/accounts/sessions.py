"""Checks a session in the database, for websockets that outlive a request."""

from __future__ import annotations

from django.contrib.auth import get_user
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest

from webapp.accounts import twofactor
from webapp.accounts.twofactor import MissingFactor


def is_staff(session_key: str | None) -> bool:
    """Whether the session is of active staff with a valid password and second factor."""
    if not session_key:
        return False
    request = HttpRequest()
    request.session = SessionStore(session_key)
    user = get_user(request)
    if not isinstance(user, User) or not (user.is_active and user.is_staff):
        return False
    return twofactor.find_missing(user, request.session) == MissingFactor.NOTHING
