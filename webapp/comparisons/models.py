"""A comparison of methods that the site runs: its plan and its status."""

from __future__ import annotations

import uuid

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from webapp.comparisons import csv_tables
from webapp.comparisons import plan as plans
from webapp.comparisons.arms import MOST_LARGE_ROUNDS, MOST_ROUNDS
from webapp.comparisons.experiment_results import Elsewhere
from webapp.comparisons.plan import Plan
from webapp.experiments import judges
from webapp.experiments.models import LoopSettings
from webapp.experiments.models.loop_settings import make_model_field


class Comparison(models.Model):
    class Status(models.TextChoices):
        PLANNED = "planned", "Planned"
        RUNNING = "running", "Running"
        PAUSED = "paused", "Paused"
        CANCELLED = "cancelled", "Cancelled"
        FINISHED = "finished", "Finished"
        FAILED = "failed", "Ended with failures"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(max_length=120, blank=True, help_text="Empty: named after what is compared.")
    tasks = models.JSONField()
    methods = models.JSONField()
    """As on the command line: "rf_agent:search=bfs", "Few at once=icpl:k=3". The first is the baseline."""
    candidates = models.PositiveIntegerField(
        "candidates per experiment",
        default=30,
        validators=[MinValueValidator(1), MaxValueValidator(1000)],
        help_text="The budget: how many policies each experiment may train, or answers it may have.",
    )
    experiments = models.PositiveSmallIntegerField(
        "experiments of each",
        default=6,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="Repetitions with other seeds. Six pairs of experiments, over all tasks, are the fewest with which "
        "a difference can be shown.",
    )
    judge = models.CharField(max_length=10, choices=judges.CHOICES_WITHOUT_PEOPLE, default=judges.WITHOUT_PEOPLE)
    judge_options = models.JSONField(default=list, blank=True)
    """As typed: ["beta=5"]."""
    preset = models.CharField(max_length=10, choices=LoopSettings._meta.get_field("preset").choices, default="quick")
    iterations = models.PositiveIntegerField(
        "training iterations", null=True, blank=True, help_text="In place of the preset's. Empty: the preset's own."
    )
    seed = models.PositiveIntegerField("first seed", default=0, help_text="The other repetitions count on from it.")
    model = make_model_field("Who writes the rewards, or answers. Empty: the offline writer, which solves no problems.")
    vision = make_model_field("Who looks at clips, for the methods that ask for that.")
    describer = make_model_field(
        "Who puts differences into words; a cheaper model will do. Empty: the one that writes."
    )
    judge_model = make_model_field("Who judges where a language model does. Empty: the one that writes.")
    token_budget = models.PositiveBigIntegerField(
        "tokens of each experiment",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Read and written, at most; then the experiment waits for a higher budget. Empty: no limit.",
    )
    dollar_budget = models.FloatField(
        "US dollars of each experiment",
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text="The same in money, as far as the prices are known. Empty: no limit.",
    )
    retrain = models.PositiveSmallIntegerField(
        "seeds of retrainings",
        default=5,
        db_default=0,
        validators=[MaxValueValidator(plans.MOST_RETRAININGS)],
        help_text="With which each winner is trained again, so that a method's score is not the luck of its search. "
        "0: the score of the search itself counts.",
    )
    contrasts = models.JSONField(default=list, db_default=models.Value([], models.JSONField()), blank=True)
    """As on the command line: "ICPL > OpenLoop". Empty: every method against the first."""
    most_large_rounds = models.PositiveSmallIntegerField(
        default=MOST_LARGE_ROUNDS, db_default=MOST_ROUNDS, editable=False
    )
    """The rounds of an arm with 16 candidates a round or more, at most. Rows of version 0.1.0 keep its limit, and so
    their experiments.
    """
    revisions = models.JSONField(
        default=plans.list_revisions, db_default=models.Value({}, models.JSONField()), editable=False
    )
    """Of methods and tasks when it was planned, which its experiments keep."""
    label = models.CharField(
        max_length=60,
        blank=True,
        help_text="Experiments with the same settings that exist already are read, not run again. A label of your own "
        "runs everything again.",
    )
    elsewhere = models.JSONField(default=dict, editable=False)
    """The tables of an uploaded report (csv_tables.parse_report), by name: what is finished there is not run."""
    by_command = models.BooleanField(default=False, db_default=False, editable=False)
    """Whether `./prefine compare` made this row. While its status is PLANNED, the command runs it, or has stopped."""
    status = models.CharField(max_length=10, choices=Status, default=Status.PLANNED, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.name

    @property
    def plan(self) -> Plan:
        """The plan, as ./prefine compare makes it. Raises ValueError where a task or method does not exist any more."""
        return plans.make_plan(
            tasks=self.tasks,
            methods=self.methods,
            candidates=self.candidates,
            experiments=self.experiments,
            judge=self.judge,
            judge_options=self.judge_options,
            preset=self.preset,
            iterations=self.iterations,
            seed=self.seed,
            model=self.model,
            vision=self.vision,
            describer=self.describer,
            judge_model=self.judge_model,
            label=self.label,
            token_budget=self.token_budget,
            dollar_budget=self.dollar_budget,
            retrain=self.retrain,
            contrasts=self.contrasts,
            most_large_rounds=self.most_large_rounds,
            revisions=self.revisions,
        )

    @property
    def finished_elsewhere(self) -> Elsewhere:
        """What of the plan is finished in the uploaded report. Raises ValueError as `plan` does."""
        return csv_tables.parse_report(self.plan, self.elsewhere, "uploaded") if self.elsewhere else {}

    @property
    def live(self) -> bool:
        return self.status in (self.Status.RUNNING, self.Status.PAUSED)

    @property
    def left_to_command(self) -> bool:
        """Whether `./prefine compare` began it, and nobody has started it on the bench."""
        return self.by_command and self.status == self.Status.PLANNED
