"""Roles and rights of staff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.apps import AppConfig
from django.contrib.auth.models import Group, Permission, User
from django.db import models, transaction
from django.db.models import Q

EXPERIMENTERS = "Experimenters"
STUDY_APPS = (*("studies", "experiments", "review", "votes", "problems", "comparisons", "archive", "notices"),)
"""Apps whose rows experimenters work with."""
KEPT_FROM_EXPERIMENTERS = ("languagemodel", "promptset", "recruit", "address", "subscription")
"""Models with API keys, with what every language model may be told, with ids of recruitment sites, and with ways to
reach people.
"""


class Role(models.TextChoices):
    VIEWER = "viewer", "Viewer"
    EXPERIMENTER = "experimenter", "Experimenter"
    ADMINISTRATOR = "administrator", "Administrator"


@dataclass(frozen=True)
class ExtraRight:
    """A right that is given to one person at a time."""

    permission: str
    label: str


EXTRA_RIGHTS = (
    ExtraRight("audit.view_entry", "Read the audit log"),
    ExtraRight("studies.view_recruit", "See the key table: which recruitment id is which participant"),
    ExtraRight("experiments.change_languagemodel", "Set up language models and their API keys"),
)
INCLUDED = {"experiments.change_languagemodel": ("add_languagemodel", "view_languagemodel", "delete_languagemodel")}
"""Permissions that are given together with the one that is chosen."""


def get_role(user: User) -> Role:
    if user.is_superuser:
        return Role.ADMINISTRATOR
    experimenter = user.pk is not None and user.groups.filter(name=EXPERIMENTERS).exists()
    return Role.EXPERIMENTER if experimenter else Role.VIEWER


@transaction.atomic
def assign_role(user: User, role: str, extra_rights: list[str]) -> None:
    """Give a saved account exactly this role and these extra rights."""
    group = Group.objects.get_or_create(name=EXPERIMENTERS)[0]
    user.groups.add(group) if role == Role.EXPERIMENTER else user.groups.remove(group)
    offered = _find_permissions([extra.permission for extra in EXTRA_RIGHTS])
    user.user_permissions.remove(*offered)
    user.user_permissions.add(*_find_permissions(extra_rights))


def get_extra_rights(user: User) -> list[str]:
    if user.pk is None:
        return []
    permissions = {
        f"{row.content_type.app_label}.{row.codename}" for row in user.user_permissions.select_related("content_type")
    }
    return [extra.permission for extra in EXTRA_RIGHTS if extra.permission in permissions]


def list_extra_rights() -> list[tuple[str, str]]:
    """Permission and label of each extra right whose model this installation has."""
    return [(extra.permission, extra.label) for extra in EXTRA_RIGHTS if _find_permissions([extra.permission])]


def _find_permissions(names: list[str]) -> list[Permission]:
    found: list[Permission] = []
    for name in names:
        app, _, codename = name.partition(".")
        wanted = (codename, *INCLUDED.get(name, ()))
        found += Permission.objects.filter(content_type__app_label=app, codename__in=wanted)
    return found


def grant_rights(sender: AppConfig, using: str, **_: Any) -> None:
    """After an app's migration, give experimenters the rights on its new models. Never removes rights."""
    if sender.label not in STUDY_APPS:
        return
    group, _created = Group.objects.using(using).get_or_create(name=EXPERIMENTERS)
    rights = Permission.objects.using(using).filter(
        ~Q(content_type__model__in=KEPT_FROM_EXPERIMENTERS), content_type__app_label=sender.label
    )
    links = Group.permissions.through
    links._default_manager.using(using).bulk_create(
        [links(group_id=group.pk, permission_id=right.pk) for right in rights], ignore_conflicts=True
    )
