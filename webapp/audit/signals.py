"""Records what Django signals: logins, changes in the admin, rights, deletions."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.models import Group, User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db.models import Model
from django.db.models.signals import m2m_changed, post_delete, post_save, pre_save
from django.dispatch import receiver

from webapp.audit import record

WATCHED = (
    *("auth.User", "auth.Group", "studies.Study", "studies.Participant", "experiments.Experiment"),
    *("experiments.LanguageModel", "votes.Poll", "votes.Evaluator"),
)
"""Models whose deletions are recorded; rows of other models that are deleted with them are not."""
RIGHTS = ("is_active", "is_staff", "is_superuser")


@receiver(user_logged_in)
def record_login(user: User, **_: Any) -> None:
    record(user, "logged in", user)


@receiver(user_logged_out)
def record_logout(user: User | None, **_: Any) -> None:
    if user is not None:
        record(user, "logged out", user)


@receiver(user_login_failed)
def record_failed_login(credentials: dict[str, Any], **_: Any) -> None:
    """Do not record a name that is no account: it may be a password typed into the wrong field."""
    account = User.objects.filter(username=str(credentials.get("username", ""))).first()
    record(account or "unknown account", "failed to log in", account)


@receiver(post_save, sender=LogEntry)
def record_admin_change(instance: LogEntry, created: bool, **_: Any) -> None:
    """Record additions and changes with names of fields, never values. Deletions: see `record_deletion`."""
    if created and instance.action_flag in (ADDITION, CHANGE) and instance.content_type:
        words = "added" if instance.action_flag == ADDITION else "changed"
        model = instance.content_type.model_class()
        target = model._base_manager.filter(pk=instance.object_id).first() if model else None
        record(instance.user, words, target, fields=read_fields(instance.change_message))


def read_fields(message: str) -> list[str]:
    """The fields that Django's change message names."""
    try:
        steps = json.loads(message or "[]")
    except ValueError:
        return []
    details = [part for step in steps if isinstance(step, dict) for part in step.values()]
    return [field for part in details for field in part.get("fields", [])]


@receiver(pre_save, sender=User)
def remember_rights(instance: User, **_: Any) -> None:
    before = User.objects.filter(pk=instance.pk).values(*RIGHTS, "password").first()
    instance._rights_before = before  # type: ignore[attr-defined]


@receiver(post_save, sender=User)
def record_rights(instance: User, created: bool, **_: Any) -> None:
    before = getattr(instance, "_rights_before", None) or dict.fromkeys(RIGHTS, False)
    changes = {name: getattr(instance, name) for name in RIGHTS if getattr(instance, name) != before[name]}
    if changes:
        record(None, "changed rights", instance, **changes)
    if not created and before.get("password") != instance.password:
        record(None, "changed password", instance)


def record_memberships(instance: Model, action: str, reverse: bool, model: type[Model], **details: Any) -> None:
    if action not in ("post_add", "post_remove", "pre_clear"):
        return
    names = [str(row) for row in model._base_manager.filter(pk__in=details["pk_set"] or ())]
    record(None, "changed rights", instance, **{action.partition("_")[2]: names})


for through in (User.groups.through, User.user_permissions.through, Group.permissions.through):
    m2m_changed.connect(record_memberships, sender=through)


def record_deletion(instance: Model, **_: Any) -> None:
    record(None, "deleted", instance)


for name in WATCHED:
    post_delete.connect(record_deletion, sender=name)
