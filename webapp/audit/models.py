"""The audit log's rows."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC
from typing import Any, NoReturn

from django.apps import apps
from django.db import models
from django.utils import timezone


class AppendOnly(RuntimeError):
    """Somebody tried to change or remove a row of the audit log."""


class Entries(models.QuerySet["Entry"]):
    def update(self, **values: Any) -> NoReturn:
        raise AppendOnly("Rows of the audit log are never changed.")

    def delete(self) -> NoReturn:
        raise AppendOnly("Rows of the audit log are never removed.")


class Entry(models.Model):
    """One recorded action, with labels and account names: no names of participants, no addresses."""

    actor = models.CharField(max_length=150, db_index=True)
    """An account's name, or "participant", "evaluator", "system"."""
    action = models.CharField(max_length=80, db_index=True)
    target_type = models.CharField(max_length=80, blank=True)
    target_id = models.CharField(max_length=64, blank=True)
    target_label = models.CharField(max_length=200, blank=True)
    detail = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now, db_index=True)
    number = models.PositiveBigIntegerField(null=True, unique=True)
    """Place in the chain, from 1 without gaps; null until the row is sealed."""
    previous = models.CharField(max_length=64, blank=True)
    hash = models.CharField(max_length=64, blank=True)

    objects = models.Manager.from_queryset(Entries)()

    class Meta:
        verbose_name = "audit entry"
        verbose_name_plural = "audit log"
        ordering = ["-id"]
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.actor}: {self.action} {self.target_label}".strip()

    @property
    def target_kind(self) -> str:
        """What people call a row of this type; the stored name where the table is gone."""
        return name_kinds().get(self.target_type, self.target_type)

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise AppendOnly("Rows of the audit log are never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise AppendOnly("Rows of the audit log are never removed.")

    def digest(self, number: int, previous: str) -> str:
        """SHA-256 of the row at this place of the chain, as 64 hexadecimal digits."""
        fields = [self.actor, self.action, self.target_type, self.target_id, self.target_label]
        content = [number, previous, self.created_at.astimezone(UTC).isoformat(), *fields, self.detail]
        return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def name_kinds() -> dict[str, str]:
    """By `target_type`, what people call such a row."""
    return {model._meta.label_lower: str(model._meta.verbose_name) for model in apps.get_models()}


class Head(models.Model):
    """The number and hash of the chain's last row; locked to add the next."""

    number = models.PositiveBigIntegerField(default=0)
    hash = models.CharField(max_length=64, blank=True)

    class Meta:
        default_permissions = ()
