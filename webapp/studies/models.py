"""Studies, and the people in them."""

from __future__ import annotations

import hashlib
import secrets

from django.db import models
from django.urls import reverse

from webapp.experiments.models import LoopSettings


def new_token() -> str:
    return secrets.token_urlsafe(24)


class Study(LoopSettings):
    """A plan that each participant carries out in an experiment of their own."""

    class Status(models.TextChoices):
        DRAFT = "draft", "Draft: links do not open yet"
        OPEN = "open", "Open"
        CLOSED = "closed", "Closed: links say so"

    title = models.CharField(max_length=120, help_text="Participants see it on the consent page.")
    status = models.CharField(max_length=8, choices=Status, default=Status.DRAFT)
    demonstration = models.BooleanField(default=False, help_text="Anybody may start it from the home page.")
    consent_text = models.TextField(
        help_text="Purpose, procedure, duration, risks, data kept and how long, voluntary, withdrawal. Plain text."
    )
    consent_version = models.CharField(max_length=20, default="1")
    contact = models.CharField(max_length=200, help_text="Whom a participant can write to; shown on every page.")
    thanks_text = models.TextField(blank=True)
    seed = models.PositiveIntegerField(default=0, help_text="Participants' experiments take seeds from here on.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "studies"
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.title

    @property
    def consent_hash(self) -> str:
        return hashlib.sha256(f"{self.consent_version}\n{self.consent_text}".encode()).hexdigest()


class Participant(models.Model):
    """A person behind a personal link. No personal data."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="participants")
    token = models.CharField(max_length=64, unique=True, default=new_token, editable=False)
    label = models.CharField(max_length=40, help_text="A pseudonym for exports, for example P07.")
    consented_at = models.DateTimeField(null=True, editable=False)
    consent_version = models.CharField(max_length=20, blank=True, editable=False)
    consent_hash = models.CharField(max_length=64, blank=True, editable=False)
    instructed_at = models.DateTimeField(null=True, editable=False)
    withdrawn_at = models.DateTimeField(null=True, editable=False)
    finished_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "label"], name="one_label_per_study")]

    def __str__(self) -> str:
        return self.label

    def get_absolute_url(self) -> str:
        return reverse("studio", args=[self.token])
