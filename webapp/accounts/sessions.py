"""Sessions of staff: whether one is valid, how long it was not used, and which ones a person has."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY, get_user
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from webapp.accounts import twofactor
from webapp.accounts.twofactor import MissingFactor

BEGAN, SEEN = "began_at", "seen_at"
SAVE_SECONDS = 60
"""How often a session says that it is in use."""


@dataclass(frozen=True)
class StaffSession:
    name: str
    """A digest of its key, which no page may hold."""
    began: datetime | None
    seen: datetime | None
    current: bool


def is_staff(session_key: str | None) -> bool:
    """Whether the session is of active staff, in use, with a valid password and second factor.

    Reads the database, for websockets that outlive a request.
    """
    if not session_key:
        return False
    request = HttpRequest()
    request.session = SessionStore(session_key)
    user = get_user(request)
    if not isinstance(user, User) or not (user.is_active and user.is_staff) or is_idle(request.session):
        return False
    return twofactor.find_missing(user, request.session) == MissingFactor.NOTHING


def is_idle(session: Any) -> bool:
    seen = session.get(SEEN)
    return seen is not None and time.time() > seen + 3600 * settings.IDLE_HOURS


def note_use(session: Any) -> None:
    now = int(time.time())
    if now > session.get(SEEN, 0) + SAVE_SECONDS:
        session.setdefault(BEGAN, now)
        session[SEEN] = now


def list_sessions(user: User, current_key: str | None) -> list[StaffSession]:
    """Where this person is signed in, this session first."""
    found = []
    for row, data in _find_rows(user):
        began, seen = (datetime.fromtimestamp(data[name], UTC) if name in data else None for name in (BEGAN, SEEN))
        found.append(StaffSession(_hash_key(row.session_key), began, seen, row.session_key == current_key))
    return sorted(found, key=lambda one: (not one.current, -(one.seen.timestamp() if one.seen else 0)))


def end_session(user: User, name: str) -> bool:
    """Sign this person out there. Returns whether there was such a session."""
    rows = [row for row, _ in _find_rows(user) if _hash_key(row.session_key) == name]
    for row in rows:
        row.delete()
    return bool(rows)


def _find_rows(user: User) -> list[tuple[Session, dict[str, Any]]]:
    rows = Session.objects.filter(expire_date__gt=timezone.now())
    decoded = [(row, row.get_decoded()) for row in rows.iterator(500)]
    return [(row, data) for row, data in decoded if data.get(SESSION_KEY) == str(user.pk)]


def _hash_key(key: str) -> str:
    return salted_hmac("session", key, algorithm="sha256").hexdigest()[:16]
