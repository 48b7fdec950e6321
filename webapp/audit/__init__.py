"""Who did what, and when: an append-only list whose rows are chained, so that a change to an old one shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django.contrib.auth.base_user import AbstractBaseUser
    from django.contrib.auth.models import AnonymousUser
    from django.db.models import Model

    from webapp.audit.models import Entry


def record(
    actor: AbstractBaseUser | AnonymousUser | str | None, action: str, target: Model | None = None, **detail: Any
) -> Entry:
    """Append one row, in the caller's transaction: it is there if and only if what it tells of is.

    `actor` is a user, or a word such as "participant" or "system"; None is the sender of the request at hand.
    `action` is in the past tense: "closed vote". `detail` holds no personal data: labels, numbers, names of fields.
    """
    from webapp.audit import chain, request_scope

    return chain.append_entry(request_scope.name_actor(actor, action), action, target, detail)
