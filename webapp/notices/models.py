"""Addresses and browsers for notices, kept apart from the study's data, and the notices themselves."""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.utils import timezone

from webapp.experiments.models import PairSession, Request
from webapp.studies.models import Participant, new_token


class Address(models.Model):
    """A participant's e-mail address. Deleted when they finish or leave, and a month after the study closed."""

    participant = models.OneToOneField(Participant, on_delete=models.CASCADE, related_name="address")
    email = models.EmailField()
    token = models.CharField(max_length=64, unique=True, default=new_token, editable=False)
    """The token of the link that stops the messages."""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "addresses"
        default_permissions = ()

    def __str__(self) -> str:
        return f"address of {self.participant}"

    @property
    def masked(self) -> str:
        """Enough of the address for its owner to recognise it."""
        name, _, host = self.email.partition("@")
        return f"{name[:1]}…@{host}"


class Subscription(models.Model):
    """A browser's subscription to notices (Push API). Deleted like an address, and when the browser ends it."""

    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="subscriptions")
    endpoint = models.CharField(max_length=1000)
    p256dh = models.CharField(max_length=120)
    auth = models.CharField(max_length=40)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["participant", "endpoint"], name="one_subscription_per_browser")]

    def __str__(self) -> str:
        return f"browser of {self.participant}"


class Notice(models.Model):
    """A message about one request by one channel. The row's uniqueness ensures that it is sent once."""

    class Kind(models.TextChoices):
        READY = "ready"
        REMINDER = "reminder"

    class Channel(models.TextChoices):
        EMAIL = "email"
        PUSH = "push"

    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="notices")
    request = models.ForeignKey(Request, on_delete=models.CASCADE, related_name="notices")
    session = models.PositiveSmallIntegerField(default=0, db_default=0)
    """Of a training whose pairs people answer: the session that is open; else 0."""
    kind = models.CharField(max_length=8, choices=Kind)
    channel = models.CharField(max_length=5, choices=Channel)
    due_at = models.DateTimeField(default=timezone.now)
    """When to send it; while it is being sent, when to try again if the notifier dies."""
    sent_at = models.DateTimeField(null=True)
    dropped = models.CharField(max_length=40, blank=True)
    """Why it was not sent."""
    attempts = models.PositiveSmallIntegerField(default=0)
    error = models.CharField(max_length=300, blank=True)
    """The error of the last attempt, without the address."""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(fields=["participant", "request", "session", "kind", "channel"], name="told_once"),
        ]
        indexes = [
            models.Index(fields=["due_at"], name="to_be_sent", condition=models.Q(sent_at=None, dropped="")),
        ]

    def __str__(self) -> str:
        return f"{self.kind} by {self.channel} to {self.participant}"

    @property
    def pair_session(self) -> PairSession | None:
        """The session that it is about, if it is about one."""
        return self.request.pair_sessions.filter(number=self.session).first() if self.session else None

    @property
    def asked_at(self) -> datetime:
        """Since when the person has been asked."""
        session = self.pair_session
        return (session and session.opened_at) or self.request.created_at
