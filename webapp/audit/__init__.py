"""The audit log: an append-only table of who did what and when. A hash chain reveals changes to old rows."""

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
    """Append a row in the caller's transaction, so that it exists only if the recorded action took effect.

    `actor` is a user, or a word such as "participant" or "system"; None is the user of the current request.
    `action` is in the past tense: "closed vote". `detail` holds labels, numbers and names of fields, no personal data.
    """
    from webapp.audit import chain, request_scope

    return chain.append_entry(request_scope.name_actor(actor, action), action, target, detail)
