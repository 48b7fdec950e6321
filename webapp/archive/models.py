"""Exports and imports as work for a worker, the origin of imported rows, and counts of deleted ones."""

from __future__ import annotations

import uuid

from django.db import models

from webapp.experiments.models import Experiment
from webapp.studies.models import Study


class Task(models.Model):
    """Work for a worker; its row says who does it, how far it is and how it ended (webapp.archive.work)."""

    class Status(models.TextChoices):
        QUEUED = "queued", "Waiting for a worker"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    by = models.CharField(max_length=150)
    """The account that asked for it."""
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
        """At the pace so far; None before 2% are done."""
        if self.status != self.Status.RUNNING or not (self.started_at and self.heartbeat) or self.fraction < 0.02:
            return None
        took = (self.heartbeat - self.started_at).total_seconds()
        return float(took * (1 - self.fraction) / self.fraction)


class Export(Task):
    """One zip of one study, or of experiments. It is deleted after a week, and earlier when the data of a person in it
    is deleted.
    """

    study = models.ForeignKey(Study, null=True, on_delete=models.CASCADE, related_name="exports")
    experiments = models.JSONField(default=list, db_default=models.Value([], models.JSONField()))
    """Primary keys, where it is of no study."""
    name = models.CharField(max_length=80, blank=True, default="", db_default="")
    """Part of the name of its folder, where it is of no study."""
    title = models.CharField(max_length=300, blank=True, default="", db_default="")
    clips = models.BooleanField(default=True)
    checkpoints = models.BooleanField(default=False)
    fresh_labels = models.BooleanField(default=False)
    pilots = models.BooleanField(default=False)
    """Whether it contains the people who tried the study out."""
    size = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"export of {self.study or self.title}"

    @property
    def key(self) -> str:
        """The key of its zip in the store."""
        return f"exports/{self.public_id}.zip"


class Import(Task):
    """One zip that somebody uploaded."""

    name = models.CharField(max_length=200)
    """The name of the uploaded file."""
    study = models.ForeignKey(Study, null=True, on_delete=models.SET_NULL, related_name="+")

    def __str__(self) -> str:
        return f"import of {self.name}"

    @property
    def key(self) -> str:
        """The key of its zip in the store."""
        return f"imports/{self.public_id}.zip"


class Origin(models.Model):
    """Where an imported study came from. It can be read; nothing in it ever runs."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="origin")
    sha256 = models.CharField(max_length=64)
    """The hash of the zip."""
    versions = models.JSONField(default=dict)
    """The versions of the Prefine that exported it."""
    audit = models.JSONField(default=list)
    """Rows of the other installation's audit log, which this installation's log cannot vouch for."""
    changed = models.JSONField(default=dict)
    """Model -> primary key -> {field: its value in the zip}, where the import changed it so that nothing runs."""
    prompts_left_out = models.PositiveIntegerField(default=0, db_default=0)
    """Sets of prompts that did not come along, because who imported it may not upload any."""
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"origin of {self.study}"


class Imported(models.Model):
    """An experiment that came with an import: never started, retried or filmed here."""

    experiment = models.OneToOneField(Experiment, on_delete=models.CASCADE, related_name="imported")

    def __str__(self) -> str:
        return f"{self.experiment}, imported"


class Erasure(models.Model):
    """How much was deleted, in numbers, without anything about the people."""

    class Cause(models.TextChoices):
        WISH = "wish", "The person wished it"
        RETENTION = "retention", "The retention period was over"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="erasures")
    cause = models.CharField(max_length=9, choices=Cause)
    people = models.PositiveIntegerField()
    counts = models.JSONField(default=dict)
    """Kind of row -> number of rows."""
    aggregate = models.JSONField(default=dict)
    """Numbers of the whole study that identify no person; only at the end of the retention period."""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.people} deleted from {self.study}"


class Redaction(models.Model):
    """Words still to be removed from the files of an experiment that other people keep; deleted once that is done."""

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="+")
    reasons = models.JSONField(default=list)
    labels = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"redaction of {self.experiment}"
