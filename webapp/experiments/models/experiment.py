"""Experiments with their rounds and candidates."""

from __future__ import annotations

import uuid

from django.db import models

from llm import methods
from webapp.experiments.models.loop_settings import LoopSettings


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
    status = models.CharField(max_length=10, choices=Status, default=Status.DRAFT, editable=False)
    paused = models.BooleanField(default=False, editable=False)
    error = models.TextField(blank=True, editable=False)
    revision = models.PositiveSmallIntegerField(default=1, editable=False)
    """The revision of the method that it follows."""
    flow_changed = models.BooleanField(default=False, editable=False)
    """It failed because its method's flow has changed."""
    ends_early = models.BooleanField(default=False, editable=False)
    """Its flow was ended: the judge chooses among the finished rounds."""
    winner = models.ForeignKey("Candidate", null=True, on_delete=models.SET_NULL, related_name="+", editable=False)
    overrides = models.JSONField(default=dict, editable=False)
    """Fields of the training preset to replace; set by the command line and tests only."""
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, editable=False)
    finished_at = models.DateTimeField(null=True, editable=False)
    retrains = models.ForeignKey(
        "Candidate", null=True, on_delete=models.SET_NULL, related_name="retrainings", editable=False
    )
    """The candidate of another experiment whose reward it trains again, or whose policy learns on from pairs; null
    where it looks for rewards itself.
    """
    prompts = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()), editable=False)
    """The prompts of one's own (`prompt_set`, PREFINE_PROMPTS) that it asked with: digest of the texts -> name of the
    prompt -> text. Empty: Prefine's alone.
    """
    owner = models.CharField(max_length=150, blank=True, editable=False)
    """The account that set it up by itself; empty in studies, comparisons and on the command line."""
    archived_at = models.DateTimeField(null=True, editable=False)
    """Since when the table of experiments hides it; null: it is shown."""

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Check the settings of drafts only: those of started experiments never change."""
        if self.status == self.Status.DRAFT:
            super().clean()

    @property
    def watched(self) -> bool:
        """Whether every policy of a round is filmed before the loop goes on: a person or a vision model sees the clip,
        or the method wants all.
        """
        method = methods.get_method(self.method)
        return (
            self.judge_info.asks_people
            or bool(self.judge_frames)
            or method.films_all(self.options)
            or method.looks(self.options)
        )

    @property
    def searches(self) -> bool:
        """Whether it looks for rewards or answers itself; else it trains a given reward."""
        known = methods.METHODS.get(self.method)
        return known is None or known.offered

    @property
    def looks_on(self) -> bool:
        """Whether it films policies that another experiment trained."""
        return self.method in methods.LOOKING_ON

    @property
    def live(self) -> bool:
        return self.status in (self.Status.RUNNING, self.Status.WAITING)


class Tag(models.Model):
    """A word that staff gave an experiment, to find it again."""

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="tags")
    name = models.CharField(max_length=40)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["experiment", "name"], name="one_tag_per_name")]

    def __str__(self) -> str:
        return self.name


class Iteration(models.Model):
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="iterations")
    number = models.PositiveSmallIntegerField()
    best = models.ForeignKey("Candidate", null=True, on_delete=models.SET_NULL, related_name="+")
    worst = models.ForeignKey("Candidate", null=True, on_delete=models.SET_NULL, related_name="+")
    reason = models.TextField(blank=True)
    tags = models.JSONField(default=list)
    aside = models.BooleanField("set aside", default=False)
    """Of an earlier flow of the method, not reached in the current one."""
    difference = models.TextField(blank=True)
    """The describer's words on how this best differs from the one before."""
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["number"]
        verbose_name = "round"
        constraints = [models.UniqueConstraint(fields=["experiment", "number"], name="one_iteration_per_number")]

    def __str__(self) -> str:
        return f"{self.experiment}, round {self.number}"


class Candidate(models.Model):
    class Status(models.TextChoices):
        WRITTEN = "written", "Written"
        TRAINING = "training", "Training"
        TRAINED = "trained", "Trained"
        FAILED = "failed", "Failed"
        ASIDE = "aside", "Set aside"
        """Written in an earlier flow of the method, not taken over into the current one."""

    iteration = models.ForeignKey(Iteration, verbose_name="round", on_delete=models.CASCADE, related_name="candidates")
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
    sessions = models.JSONField("sessions of pairs", default=list, db_default=models.Value([], models.JSONField()))
    """Where it learned from answers about pairs: the figures of each session (trainer.preferences.session_figures)."""
    rts = models.FloatField("RTS", null=True)
    final_score = models.FloatField(null=True)
    evaluation = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    """Of the final policy's mean actions over whole episodes, where it was evaluated (trainer.evaluation)."""

    class Meta:
        ordering = ["iteration__number", "index"]
        constraints = [models.UniqueConstraint(fields=["iteration", "index"], name="one_candidate_per_index")]

    def __str__(self) -> str:
        return self.key

    @property
    def key(self) -> str:
        """The id that methods use: "<iteration>-<index>"."""
        return f"{self.iteration.number}-{self.index}"
