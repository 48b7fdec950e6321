"""The state of every loop. Logic about one row lives here; writes across rows live in loop.py and jobs.py."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models

from llm import judges, methods
from simulation import catalog


def task_choices() -> list[tuple[str, str]]:
    return [(name, name) for name in catalog.tasks()]


def method_choices() -> list[tuple[str, str]]:
    return [(name, method.title) for name, method in methods.METHODS.items()]


class LanguageModel(models.Model):
    class Kind(models.TextChoices):
        OFFLINE = "offline", "Offline writer (built in, not a language model)"
        OPENAI = "openai", "OpenAI-compatible endpoint"

    name = models.CharField(max_length=80, unique=True)
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.OFFLINE)
    base_url = models.CharField(
        max_length=200,
        blank=True,
        validators=[RegexValidator(r"^https?://[^\s/]+", "An address starts with http:// or https://.")],
        help_text="For example https://api.openai.com/v1 or http://localhost:11434/v1.",
    )
    model = models.CharField(max_length=120, blank=True, help_text="The model's name at that endpoint.")
    api_key = models.CharField(max_length=300, blank=True, help_text="Kept on this server, never shown again.")
    price_input = models.FloatField(null=True, blank=True, help_text="US dollars per million input tokens.")
    price_output = models.FloatField(null=True, blank=True, help_text="US dollars per million output tokens.")
    price_date = models.DateField(null=True, blank=True, help_text="The day these prices were read.")
    concurrency = models.PositiveSmallIntegerField(
        "requests at once", default=8, blank=True, validators=[MinValueValidator(1), MaxValueValidator(64)]
    )
    context_tokens = models.PositiveIntegerField(
        "context",
        null=True,
        blank=True,
        validators=[MinValueValidator(4000)],
        help_text="Tokens of a prompt and its answer together. A prompt that would not fit leaves its oldest history "
        "out and says so. Empty: unknown.",
    )

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        if self.kind == self.Kind.OPENAI and not (self.base_url and self.model):
            raise ValidationError("An OpenAI-compatible endpoint needs an address and a model name.")
        try:
            urlsplit(self.base_url).port  # noqa: B018
        except ValueError as error:
            raise ValidationError({"base_url": f"That is not an address: {error}."}) from error

    @property
    def key(self) -> str:
        """The row's own key; the environment's goes to the environment's endpoint and to no other address."""
        return self.api_key or (settings.API_KEY if self.base_url == settings.MODEL_BASE_URL else "")


def _model(help_text: str) -> models.ForeignKey[LanguageModel | None, LanguageModel | None]:
    return models.ForeignKey(
        LanguageModel, null=True, blank=True, on_delete=models.PROTECT, related_name="+", help_text=help_text
    )


class LoopSettings(models.Model):
    """What defines a loop: shared by a study (the plan) and an experiment (one run of it)."""

    class JudgeKind(models.TextChoices):
        HUMAN = "human", "A person"
        PROXY = "proxy", "The hidden metric (proxy)"
        MODEL = "model", "A language model"

    task = models.CharField(max_length=40, choices=task_choices, default="Ant")
    method = models.CharField(max_length=40, choices=method_choices, default="icpl")
    judge = models.CharField(max_length=10, choices=JudgeKind, default=JudgeKind.HUMAN)
    k = models.PositiveSmallIntegerField(
        "candidates per iteration (K)", default=6, validators=[MinValueValidator(1), MaxValueValidator(32)]
    )
    n = models.PositiveSmallIntegerField(
        "iterations (N)", default=5, validators=[MinValueValidator(1), MaxValueValidator(100)]
    )
    preset = models.CharField(
        max_length=10,
        choices=[("quick", "Quick: two CPU cores"), ("paper", "Paper: the published settings")],
        default="quick",
    )
    model = models.ForeignKey(
        LanguageModel,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Who writes the rewards. Empty: the offline writer.",
    )
    describer = _model("Who puts differences into words; a cheaper model will do. Empty: the one that writes.")
    judge_model = _model("Who judges where a language model does. Empty: the one that writes.")
    vision = _model("Who looks at frames of the clips, for the methods that ask for that.")
    token_budget = models.PositiveBigIntegerField(
        "tokens",
        null=True,
        blank=True,
        help_text="Read and written, at most, in one experiment; then it waits for a higher budget. Empty: no limit.",
    )
    dollar_budget = models.FloatField(
        "US dollars",
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text="The same in money, as far as the prices are known. Empty: no limit.",
    )
    options = models.JSONField("method's options", default=dict, blank=True)
    """Those that differ from the method's defaults."""
    judge_options = models.JSONField("judge's options", default=dict, blank=True)

    class Meta:
        abstract = True

    def clean(self) -> None:
        if self.judge == self.JudgeKind.PROXY and catalog.task(self.task).metric is None:
            raise ValidationError({"judge": f"{self.task} has no metric: only a person can judge it."})
        chosen = methods.METHODS.get(self.method)
        if chosen is None:
            return  # the field itself says so
        if chosen.uses_metric and catalog.task(self.task).metric is None:
            raise ValidationError({"method": f"{self.task} has no metric, and {chosen.title} cannot do without one."})
        if chosen.uses_metric and self.judge == self.JudgeKind.HUMAN:
            raise ValidationError({"method": f"{chosen.title} goes by the hidden metric: it asks no person anything."})
        if not chosen.asks_judge and self.judge == self.JudgeKind.HUMAN:
            raise ValidationError({"method": f"{chosen.title} has nobody judge: a person would only wait for its end."})
        if self.k < chosen.least_k:
            raise ValidationError({"k": f"{chosen.title} needs at least {chosen.least_k} candidates per iteration."})
        if self.judge == self.JudgeKind.HUMAN and self.k > 12:
            raise ValidationError({"k": "A person compares at most 12 videos at a time."})
        try:
            self.options = chosen.settings(self.options)
        except ValueError as error:
            raise ValidationError({"options": str(error)}) from error
        if chosen.rounds:
            self.n = chosen.rounds(self.k, self.options)
        try:
            self.judge_options = judges.settings(self.judge, self.judge_options)
        except ValueError as error:
            raise ValidationError({"judge_options": str(error)}) from error

    def model_for(self, role: str) -> LanguageModel | None:
        """The language model in this role (llm.records.ROLES); None is the offline writer."""
        own = {"describer": self.describer, "judge": self.judge_model, "vision": self.vision}.get(role)
        return own or self.model

    @property
    def task_info(self) -> catalog.TaskInfo:
        return catalog.task(self.task)


class Experiment(LoopSettings):
    class Status(models.TextChoices):
        DRAFT = "draft", "Not started"
        RUNNING = "running", "Running"
        WAITING = "waiting", "Waiting for a person"
        FAILED = "failed", "Stopped by a failure"
        CANCELLED = "cancelled", "Cancelled"
        FINISHED = "finished", "Finished"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(max_length=120)
    seed = models.PositiveIntegerField(default=0)
    participant = models.OneToOneField(
        "studies.Participant", null=True, blank=True, on_delete=models.SET_NULL, related_name="experiment"
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.DRAFT, editable=False)
    paused = models.BooleanField(default=False, editable=False)
    error = models.TextField(blank=True, editable=False)
    winner = models.ForeignKey("Candidate", null=True, on_delete=models.SET_NULL, related_name="+", editable=False)
    overrides = models.JSONField(default=dict, editable=False)
    """Fields of the training preset to replace; set by the command line and tests only."""
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, editable=False)
    finished_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.name

    @property
    def watched(self) -> bool:
        """Whether a person, or a vision model, looks at every clip of a round before it is judged."""
        return self.judge == self.JudgeKind.HUMAN or self.vision_id is not None

    @property
    def live(self) -> bool:
        return self.status in (self.Status.RUNNING, self.Status.WAITING)


class Iteration(models.Model):
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="iterations")
    number = models.PositiveSmallIntegerField()
    best = models.ForeignKey("Candidate", null=True, on_delete=models.SET_NULL, related_name="+")
    worst = models.ForeignKey("Candidate", null=True, on_delete=models.SET_NULL, related_name="+")
    reason = models.TextField(blank=True)
    tags = models.JSONField(default=list)
    difference = models.TextField(blank=True)
    """The describer's words on how this best differs from the one before."""
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["experiment", "number"], name="one_iteration_per_number")]

    def __str__(self) -> str:
        return f"{self.experiment}, iteration {self.number}"


class Candidate(models.Model):
    class Status(models.TextChoices):
        WRITTEN = "written", "Written"
        TRAINING = "training", "Training"
        TRAINED = "trained", "Trained"
        FAILED = "failed", "Failed"

    iteration = models.ForeignKey(Iteration, on_delete=models.CASCADE, related_name="candidates")
    index = models.PositiveSmallIntegerField()
    source = models.TextField()
    thought = models.TextField(blank=True)
    """What the model wrote before the code, for methods that keep it."""
    parent = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="children")
    status = models.CharField(max_length=10, choices=Status, default=Status.WRITTEN)
    reason = models.TextField(blank=True)
    trace = models.JSONField(default=dict)
    metric_trace = models.JSONField(default=dict)
    """Hidden from participants and from preference methods."""
    rts = models.FloatField(null=True)
    final_score = models.FloatField(null=True)

    class Meta:
        ordering = ["iteration__number", "index"]
        constraints = [models.UniqueConstraint(fields=["iteration", "index"], name="one_candidate_per_index")]

    def __str__(self) -> str:
        return self.key

    @property
    def key(self) -> str:
        """The id that methods use: "<iteration>-<index>"."""
        return f"{self.iteration.number}-{self.index}"


class Request(models.Model):
    """One request that a method yielded, and its result: what a replay is fed."""

    class Status(models.TextChoices):
        OPEN = "open", "Open"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="requests")
    step = models.PositiveIntegerField()
    slot = models.PositiveSmallIntegerField(default=0)
    """Place within a step of concurrent requests."""
    kind = models.CharField(max_length=12)
    fingerprint = models.CharField(max_length=64)
    payload = models.JSONField()
    status = models.CharField(max_length=8, choices=Status, default=Status.OPEN)
    result = models.JSONField(null=True)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["step", "slot"]
        constraints = [models.UniqueConstraint(fields=["experiment", "step", "slot"], name="one_request_per_step")]

    def __str__(self) -> str:
        return f"{self.kind} {self.step}.{self.slot}"

    @property
    def title(self) -> str:
        """What it is about, for lists over many experiments."""
        return f"{self.experiment.task}, {self.experiment.method}, {self}"

    @property
    def run_dir(self) -> Path:
        """The training folder of a Train request."""
        place = f"{self.step}-{self.slot}" if self.slot else str(self.step)
        return Path(settings.DATA_DIR) / "runs" / f"{self.experiment.public_id}-{place}"


class Job(models.Model):
    """Work for a worker. The row is the truth: lease, heartbeat, attempt, cancellation (design idea 3)."""

    class Kind(models.TextChoices):
        ADVANCE = "advance"
        WRITE = "write"
        ASK = "ask"
        """Anything that a model answers in words: Ask, Look, and judgements where a model judges."""
        TRAIN = "train"
        FILM = "film"

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    QUEUES = {"advance": "llm", "write": "llm", "ask": "llm", "train": "train", "film": "film"}

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="jobs")
    request = models.ForeignKey(Request, null=True, on_delete=models.CASCADE, related_name="jobs")
    kind = models.CharField(max_length=10, choices=Kind)
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED, db_index=True)
    percent = models.PositiveSmallIntegerField(default=0)
    """For a film job: how far into training; 100 is the final clip."""
    owner = models.CharField(max_length=160, blank=True)
    """Who holds the lease: "<machine>:<process id>:<random>"."""
    heartbeat = models.DateTimeField(null=True)
    attempt = models.PositiveIntegerField(default=0)
    """Counts the leases ever given; owner and attempt together fence off a worker that lost its lease."""
    strikes = models.PositiveSmallIntegerField(default=0)
    """Attempts in a row that ended badly without getting further; too many fail the job."""
    reached = models.FloatField(default=0)
    """The fraction at the last strike."""
    cancel = models.BooleanField(default=False)
    rung_at = models.DateTimeField(null=True)
    rings = models.PositiveSmallIntegerField(default=0)
    """How often a worker was called for this job since it was queued; the pause between calls doubles."""
    progress = models.JSONField(default=dict)
    """What the worker last said: {"fraction", "seconds_left", "text", ...}."""
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
        return f"{self.kind} {self.pk}"

    @property
    def queue(self) -> str:
        return self.QUEUES[self.kind]


class Run(models.Model):
    """One training run of a Train request: what it cost."""

    request = models.OneToOneField(Request, on_delete=models.CASCADE, related_name="run")
    seconds = models.FloatField(default=0)
    samples = models.BigIntegerField(default=0)
    nan_worlds = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.request.title}, run"


class Clip(models.Model):
    """A film of one candidate's policy at some percentage of its training."""

    class Status(models.TextChoices):
        PENDING = "pending", "To be filmed"
        READY = "ready", "Ready"
        FAILED = "failed", "Could not be filmed"

    candidate = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="clips")
    percent = models.PositiveSmallIntegerField()
    status = models.CharField(max_length=8, choices=Status, default=Status.PENDING)
    name = models.UUIDField(default=uuid.uuid4, unique=True)
    """File name in the media store, without ending: says nothing about what it shows."""
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["candidate", "percent"]
        constraints = [models.UniqueConstraint(fields=["candidate", "percent"], name="one_clip_per_percent")]

    def __str__(self) -> str:
        experiment = self.candidate.iteration.experiment
        return f"{experiment.task}, {experiment.method}, {self.candidate} at {self.percent}%"

    @property
    def video(self) -> str:
        return f"clips/{self.name}.mp4"

    @property
    def poster(self) -> str:
        return f"clips/{self.name}.jpg"


class ModelCall(models.Model):
    """One paid-for answer of a language model, saved as it arrives so that nothing is bought twice."""

    request = models.ForeignKey(Request, on_delete=models.CASCADE, related_name="calls")
    model = models.CharField(max_length=120)
    request_hash = models.CharField(max_length=64)
    seed = models.BigIntegerField()
    data: models.JSONField[Any] = models.JSONField()
    """The call as llm.records/llm.client define it: messages, reply, finish reason, fingerprint, seed."""
    prompt_tokens = models.PositiveIntegerField(null=True)
    completion_tokens = models.PositiveIntegerField(null=True)
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
    """Append-only outbox: browsers get it pushed and catch up from it after a reconnect."""

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="events")
    kind = models.CharField(max_length=30)
    """started, written, clip, trained, judge, picked, undone, locked, finished, failed, paused and so on."""
    public = models.BooleanField(default=False)
    """A participant's page may be told that something changed (never the payload)."""
    text = models.TextField(blank=True)
    payload = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.experiment}: {self.kind} ({self.pk})"
