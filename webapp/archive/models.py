"""Exports and imports as work for a worker, where imported rows came from, and what stays of deleted ones."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils import timezone

from webapp.experiments.models import Experiment
from webapp.studies.models import Study


class Task(models.Model):
    """Work whose row is the truth: who does it, how far it is, how it ended (webapp.archive.work)."""

    class Status(models.TextChoices):
        QUEUED = "queued", "Waiting for a worker"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    by = models.CharField(max_length=150)
    """Who asked for it."""
    status = models.CharField(max_length=8, choices=Status, default=Status.QUEUED)
    owner = models.CharField(max_length=160, blank=True)
    heartbeat = models.DateTimeField(null=True)
    rung_at = models.DateTimeField(null=True)
    attempt = models.PositiveSmallIntegerField(default=0)
    fraction = models.FloatField(default=0)
    words = models.CharField(max_length=200, blank=True)
    """What is being done."""
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True
        ordering = ["-id"]

    @property
    def busy(self) -> bool:
        return self.status in (self.Status.QUEUED, self.Status.RUNNING)

    @property
    def seconds_left(self) -> float | None:
        """At the pace so far; None while that says nothing."""
        if self.status != self.Status.RUNNING or self.started_at is None or self.fraction < 0.02:
            return None
        took = (timezone.now() - self.started_at).total_seconds()
        return float(took * (1 - self.fraction) / self.fraction)


class Export(Task):
    """One zip of one study. It is deleted after a week, and with the data of anybody in it."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="exports")
    clips = models.BooleanField(default=True)
    checkpoints = models.BooleanField(default=False)
    fresh_labels = models.BooleanField(default=False)
    size = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"export of {self.study}"

    @property
    def key(self) -> str:
        """Of its zip in the store."""
        return f"exports/{self.public_id}.zip"


class Import(Task):
    """One zip that somebody brought."""

    name = models.CharField(max_length=200)
    """As the file was called."""
    study = models.ForeignKey(Study, null=True, on_delete=models.SET_NULL, related_name="+")

    def __str__(self) -> str:
        return f"import of {self.name}"

    @property
    def key(self) -> str:
        """Of its zip in the store."""
        return f"imports/{self.public_id}.zip"


class Origin(models.Model):
    """An imported study: where it came from. It is to look at; nothing in it ever runs."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="origin")
    sha256 = models.CharField(max_length=64)
    """Of the zip."""
    versions = models.JSONField(default=dict)
    """Of the Prefine that exported it."""
    audit = models.JSONField(default=list)
    """Rows of its audit log, as they were told: this installation's own log cannot vouch for them."""
    changed = models.JSONField(default=dict)
    """Model -> primary key -> {field: what stood there}, where the import put something at rest."""
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"origin of {self.study}"


class Imported(models.Model):
    """An experiment that came with an import: never started, retried or filmed here."""

    experiment = models.OneToOneField(Experiment, on_delete=models.CASCADE, related_name="imported")

    def __str__(self) -> str:
        return f"{self.experiment}, imported"


class Erasure(models.Model):
    """How much was deleted, in numbers; nothing says whose it was."""

    class Cause(models.TextChoices):
        WISH = "wish", "The person wished it"
        RETENTION = "retention", "The retention period was over"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="erasures")
    cause = models.CharField(max_length=9, choices=Cause)
    people = models.PositiveIntegerField()
    counts = models.JSONField(default=dict)
    """Kind of row -> how many."""
    aggregate = models.JSONField(default=dict)
    """Numbers of the whole study that no person can be found in; at the end of the retention period only."""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.people} deleted from {self.study}"


class Redaction(models.Model):
    """Words that are still to be taken out of files of an experiment that others go on with. Gone once that is done."""

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="+")
    reasons = models.JSONField(default=list)
    labels = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"redaction of {self.experiment}"
