"""The current request: who sent it, and which of its actions have been recorded."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest

SYSTEM = "system"
"""Workers, the reaper, commands."""


@dataclass
class Scope:
    request: HttpRequest
    recorded: list[str] = field(default_factory=list)
    """The actions."""


current_scope: ContextVar[Scope | None] = ContextVar("current", default=None)


def name_actor(actor: AbstractBaseUser | AnonymousUser | str | None, action: str) -> str:
    """The actor's name. Notes that the current request recorded this action."""
    scope = current_scope.get()
    if scope is not None:
        scope.recorded.append(action)
    if actor is None:
        actor = getattr(scope.request, "user", SYSTEM) if scope is not None else SYSTEM
    if isinstance(actor, str):
        return actor
    return actor.get_username() or "visitor"


def leave_unrecorded(why: str) -> None:
    """Note that the current request changes nothing although its method could, for example a preview of a form."""
    if scope := current_scope.get():
        scope.recorded.append(why)
