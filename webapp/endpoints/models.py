"""Limits of language models' endpoints, and their open calls, shared by all workers."""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import models


class Endpoint(models.Model):
    """The address of an endpoint, created with its first call; staff set its limits."""

    address = models.CharField(max_length=300, unique=True, help_text="Without key or password.")
    requests_per_minute = models.PositiveIntegerField(
        "requests a minute",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="As your account there allows. All experiments together keep to it. Empty: no limit.",
    )
    tokens_per_minute = models.PositiveIntegerField(
        "tokens a minute",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Read and written; a request counts with its estimated length until it has ended. Empty: no limit.",
    )
    closed_until = models.DateTimeField(null=True, editable=False)
    """Until then no request is sent, as the endpoint asked."""

    class Meta:
        ordering = ["address"]

    def __str__(self) -> str:
        return self.address


class Call(models.Model):
    """A request that is open, or ended within the last minutes."""

    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="calls")
    owner = models.CharField(max_length=160)
    """The process that asks: "<machine>:<process id>"."""
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    tokens = models.PositiveIntegerField()
    """An estimate while it runs, then the count."""

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["endpoint", "started_at"], name="calls_by_endpoint")]

    def __str__(self) -> str:
        return f"{self.endpoint}, {self.started_at:%H:%M:%S}"
