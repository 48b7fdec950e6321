"""Requests of a loop, jobs that answer them, and their results."""

from __future__ import annotations

import uuid
from typing import Any

from django.db import models

from llm.backend import MODEL_LETTERS
from trainer.records import FINAL
from webapp.experiments.job_kinds import JOB_KINDS, JobKind
from webapp.experiments.models.experiment import Candidate, Experiment


class Request(models.Model):
    """A request that a method yielded, with its result, for replays."""

    class Status(models.TextChoices):
        OPEN = "open", "Open"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        ASIDE = "aside", "Set aside"
        """Of an earlier flow of the method, not taken over into the current one (webapp.experiments.revisions)."""

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="requests")
    step = models.PositiveIntegerField()
    slot = models.PositiveSmallIntegerField("place within the step", default=0)
    """Place within a step of concurrent requests."""
    kind = models.CharField(max_length=12)
    fingerprint = models.CharField(max_length=64)
    payload = models.JSONField("what is asked")
    status = models.CharField(max_length=8, choices=Status, default=Status.OPEN)
    result = models.JSONField(null=True)
    version = models.CharField(max_length=120, blank=True)
    """The version of Prefine that asked; empty in old rows."""
    revision = models.PositiveSmallIntegerField(default=1)
    """The revision of the method that asked."""
    folder = models.CharField(max_length=80, blank=True)
    """The name of the training folder; empty if it follows from step and slot."""
    pooled = models.JSONField("pooled votes", null=True)
    """Statistics of a panel's votes (webapp.review.panels); null if one person decided."""
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["step", "slot"]
        constraints = [
            models.UniqueConstraint(
                fields=["experiment", "step", "slot"], condition=~models.Q(status="aside"), name="one_request_per_step"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.step}.{self.slot}"

    @property
    def title(self) -> str:
        """The request with its experiment, for lists over many experiments."""
        return f"{self.experiment.task}, {self.experiment.method}, {self}"

    @property
    def run_key(self) -> str:
        """The store's folder with the files of a Train request (webapp.experiments.run_folder)."""
        place = f"{self.step}-{self.slot}" if self.slot else str(self.step)
        return f"runs/{self.folder or f'{self.experiment.public_id}-{place}'}"


class Job(models.Model):
    """Work for a worker, with its lease, heartbeat, attempts and cancellation.

    What differs between its kinds stands in webapp.experiments.job_kinds.
    """

    class Kind(models.TextChoices):
        ADVANCE = "advance", JOB_KINDS["advance"].title
        WRITE = "write", JOB_KINDS["write"].title
        ASK = "ask", JOB_KINDS["ask"].title
        """For Ask, Look, and judgements by a model."""
        TRAIN = "train", JOB_KINDS["train"].title
        FILM = "film", JOB_KINDS["film"].title
        PAIRS = "pairs", JOB_KINDS["pairs"].title
        """Films the segments of a session's pairs."""
        ANSWER = "answer", JOB_KINDS["answer"].title
        """Has a vision model answer these pairs."""
        PERFORM = "perform", JOB_KINDS["perform"].title
        """Records episodes of a policy that another experiment trained; a film job follows."""
        ASKED = "asked", JOB_KINDS["asked"].title
        """Films pairs that a simulated teacher has answered."""

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    NO_SPACE, STORE_AWAY = "No disk space on", "Waits for the store:"
    """How the error of a queued job begins that waits for something outside of Prefine."""

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="jobs")
    request = models.ForeignKey(Request, null=True, on_delete=models.CASCADE, related_name="jobs")
    kind = models.CharField(max_length=10, choices=Kind)
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED, db_index=True)
    percent = models.PositiveSmallIntegerField(default=0)
    """For a film job: how far into training; 100 is the final clip. For pairs and their answers: the session."""
    owner = models.CharField(max_length=160, blank=True)
    """Who holds the lease: "<machine>:<process id>:<random>"."""
    heartbeat = models.DateTimeField("last sign of life", null=True)
    attempt = models.PositiveIntegerField(default=0)
    """Number of leases so far; a worker that lost its lease no longer matches owner and attempt."""
    strikes = models.PositiveSmallIntegerField("failed attempts in a row", default=0)
    """Failed attempts in a row without progress; too many fail the job."""
    reached = models.FloatField("fraction at the last failed attempt", default=0)
    """The fraction at the last strike."""
    protocol = models.PositiveSmallIntegerField("protocol that a worker must understand", default=1, db_default=1)
    """The lowest that a worker must understand (webapp.experiments.protocol)."""
    cancel = models.BooleanField("asked to stop", default=False)
    rung_at = models.DateTimeField("workers last called at", null=True)
    rings = models.PositiveSmallIntegerField("calls to workers", default=0)
    """Number of calls for this job since it was queued; the pause between calls doubles."""
    held_up_at = models.DateTimeField(null=True)
    """Since when it waits for a full disk or a store that is away, short attempts included; null if it does not."""
    progress = models.JSONField(default=dict)
    """The worker's last report: {"fraction", "seconds_left", "text", ...}, with the job's "course"
    (webapp.experiments.courses); after a training also "made_by"."""
    estimates = models.JSONField("times left that pages said", default=list)
    """What pages said about the time left of the round: [seconds since the job was created, seconds left, 1 if an
    earlier estimate was too short, 2 if one of less than a minute was] (webapp.experiments.promises)."""
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["request", "kind", "percent"], name="one_job_per_request"),
            models.UniqueConstraint(
                fields=["experiment"], condition=models.Q(kind="advance", status="queued"), name="one_queued_advance"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.pk}"

    @property
    def queue(self) -> str:
        return self.info.queue

    @property
    def info(self) -> JobKind:
        return JOB_KINDS[self.kind]

    @property
    def films_early(self) -> bool:
        """Whether it films policies in mid-training: nothing waits for these clips."""
        return self.info.films_clips and self.percent < FINAL


class Run(models.Model):
    """The cost of a Train request's training."""

    request = models.OneToOneField(Request, on_delete=models.CASCADE, related_name="run")
    seconds = models.FloatField(default=0)
    samples = models.BigIntegerField(default=0)
    nan_worlds = models.PositiveIntegerField("worlds with NaN", default=0)
    store_seconds = models.FloatField("seconds of waiting for the store", default=0, db_default=0)
    """How long the training waited for the store."""
    store_bytes = models.BigIntegerField("bytes sent to the store", default=0, db_default=0)
    """What it uploaded, checkpoints included."""
    task_revision = models.PositiveSmallIntegerField(default=1, db_default=1)
    """The revision of the task on which it trained."""
    preset = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    """The values of the training settings with which it trained; empty where an earlier version saved none."""
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.request.title}, run"


class Film(models.Model):
    """A film in the store, with its still."""

    class Status(models.TextChoices):
        PENDING = "pending", "To be filmed"
        READY = "ready", "Ready"
        FAILED = "failed", "Could not be filmed"

    status = models.CharField(max_length=8, choices=Status, default=Status.PENDING)
    name = models.UUIDField(default=uuid.uuid4, unique=True)
    """The file's name in the store, without ending; random, so that it reveals nothing."""
    error = models.TextField(blank=True)

    class Meta:
        abstract = True

    @property
    def video(self) -> str:
        return f"clips/{self.name}.mp4"

    @property
    def poster(self) -> str:
        return f"clips/{self.name}.jpg"


class Clip(Film):
    """A film of one candidate's policy at some percentage of its training."""

    candidate = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="clips")
    percent = models.PositiveSmallIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["candidate", "percent"]
        constraints = [models.UniqueConstraint(fields=["candidate", "percent"], name="one_clip_per_percent")]

    def __str__(self) -> str:
        experiment = self.candidate.iteration.experiment
        return f"{experiment.task}, {experiment.method}, {self.candidate} at {self.percent}%"


class ModelCall(models.Model):
    """An answer of a language model, saved as it arrives so that none is paid for twice."""

    request = models.ForeignKey(Request, on_delete=models.CASCADE, related_name="calls")
    model = models.CharField(max_length=MODEL_LETTERS)
    request_hash = models.CharField("hash of the request", max_length=64)
    seed = models.BigIntegerField()
    data: models.JSONField[Any] = models.JSONField()
    """The call as llm.records/llm.client define it: messages, reply, finish reason, fingerprint, seed."""
    prompt_tokens = models.PositiveIntegerField(null=True)
    completion_tokens = models.PositiveIntegerField(null=True)
    estimated = models.BooleanField(default=False)
    """Whether its tokens are estimated from its letters, because the endpoint gave no usage."""
    latency = models.FloatField(default=0)
    cost = models.FloatField(null=True)
    """US dollars; null when usage or price is unknown."""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["request", "request_hash", "seed"], name="no_answer_is_bought_twice")
        ]

    def __str__(self) -> str:
        return f"{self.request.title}, answer {self.seed}"


class Event(models.Model):
    """A row of the outbox: pushed to browsers, which catch up from it after a reconnect."""

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="events")
    kind = models.CharField(max_length=30)
    """started, written, clip, trained, judge, picked, undone, locked, finished, failed, paused and so on."""
    public = models.BooleanField(default=False)
    """Whether participants' pages are told that something changed (never the payload)."""
    text = models.TextField(blank=True)
    payload = models.JSONField("details", default=dict)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.experiment}: {self.kind} ({self.pk})"
