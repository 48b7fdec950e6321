"""Processes that work."""

from __future__ import annotations

from django.db import models


class Worker(models.Model):
    """A process that takes work from one queue, on any machine, with its heartbeat."""

    class Kind(models.TextChoices):
        TRAIN = "train", "Training"
        FILM = "film", "Filming"
        LLM = "llm", "Writing"

    name = models.CharField(max_length=120, unique=True)
    kind = models.CharField(max_length=8, choices=Kind)
    """Its queue."""
    owner = models.CharField(max_length=160)
    """The process that has the name: "<machine>:<process id>:<random>", as in the leases of its jobs."""
    version = models.CharField(max_length=120)
    protocol = models.PositiveSmallIntegerField()
    """What it understands (webapp.experiments.protocol)."""
    device = models.CharField(max_length=120, blank=True)
    """Where it trains; empty for other kinds."""
    machine = models.CharField(max_length=300)
    """Processor, cores and packages."""
    started_at = models.DateTimeField()
    heartbeat = models.DateTimeField()
    stopped_at = models.DateTimeField(null=True)
    """When it ended in order; null while it runs, and after a crash."""
    draining = models.BooleanField(default=False)
    """Whether it is to finish what it does and take no more, also after a restart."""

    class Meta:
        ordering = ["kind", "name"]

    def __str__(self) -> str:
        return self.name
