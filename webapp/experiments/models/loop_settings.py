"""The settings of a loop: task, method, judge, models, budget."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Prefetch

from llm import methods
from llm.errors import Unauthorized
from llm.method import Method
from simulation import catalog
from webapp.base.encryption import EncryptedField, is_readable
from webapp.experiments import judges
from webapp.experiments.judge import Judge
from webapp.experiments.models.prompt_sets import PromptSet
from webapp.problems import lookup
from webapp.problems.media import get_medium
from webapp.problems.medium import Medium
from webapp.problems.models import Problem, TestCase

LEAST_CONTEXT, MOST_CONTEXT = 4000, 10**8
"""Limits of a model's context, in tokens."""


def task_choices() -> list[tuple[str, str]]:
    return [(name, name) for name in catalog.list_tasks()]


def find_refused(field: str) -> dict[str, list[str]]:
    """The methods, judges or training starts that a task refuses whatever the other settings are, by task."""
    found = {}
    cases = Prefetch("cases", TestCase.objects.only("problem"))
    tasks: list[lookup.TaskInfo] = [*catalog.list_tasks().values(), *Problem.objects.prefetch_related(cases)]
    upright = catalog.list_upright_tasks()
    for info in tasks:
        metric, filmed = info.metric, get_medium(info.name).filmed
        if field == "method":
            every = methods.OFFERED.values()
            names = [m.name for m in every if (m.uses_metric and metric is None) or not (m.reasoning or filmed)]
        elif field == "training_start":
            names = [] if info.name in upright else [TrainingStart.UPRIGHT]
        else:
            names = [judge.name for judge in judges.JUDGES.values() if judge.uses_metric and metric is None]
        found[info.name] = names
    return {task: names for task, names in found.items() if names}


def preset_choices() -> list[tuple[str, str]]:
    return list(catalog.PRESETS.items())


def method_choices() -> list[tuple[str, str]]:
    return [(name, method.title) for name, method in methods.METHODS.items()]


class LanguageModel(models.Model):
    class Kind(models.TextChoices):
        OFFLINE = "offline", "Offline writer (no language model)"
        OPENAI = "openai", "OpenAI-compatible endpoint"

    name = models.CharField(max_length=80, unique=True)
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.OFFLINE)
    base_url = models.CharField(
        "address",
        max_length=200,
        blank=True,
        validators=[RegexValidator(r"^https?://[^\s/]+", "An address starts with http:// or https://.")],
        help_text="For example https://api.openai.com/v1 or http://localhost:11434/v1.",
    )
    model = models.CharField(max_length=120, blank=True, help_text="The model's name at that endpoint.")
    api_key = EncryptedField("API key", blank=True, help_text="Kept on this server, never shown again.")
    price_input = models.FloatField(null=True, blank=True, help_text="US dollars per million input tokens.")
    price_output = models.FloatField(null=True, blank=True, help_text="US dollars per million output tokens.")
    price_date = models.DateField(null=True, blank=True, help_text="The day these prices were read.")
    concurrency = models.PositiveSmallIntegerField(
        "requests at once", default=8, blank=True, validators=[MinValueValidator(1), MaxValueValidator(64)]
    )
    timeout = models.PositiveIntegerField(
        "patience",
        default=300,
        blank=True,
        validators=[MinValueValidator(10), MaxValueValidator(3600)],
        help_text="Seconds of silence after which a request is given up and asked again. A model that thinks unseen is "
        "silent, and so is a server that cannot stream.",
    )
    context_tokens = models.PositiveIntegerField(
        "context",
        null=True,
        blank=True,
        validators=[MinValueValidator(LEAST_CONTEXT)],
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
    def is_offline(self) -> bool:
        """The built-in writer, which is no language model: it costs nothing and sees no picture."""
        return self.kind == self.Kind.OFFLINE

    @property
    def key(self) -> str:
        """The row's own key; else PREFINE_API_KEY, for the endpoint of PREFINE_BASE_URL only. Raises ModelError."""
        if not is_readable(self.api_key):
            raise Unauthorized(
                f"the stored API key of {self.name} cannot be decrypted with this installation's keys: enter it again, "
                "or restore PREFINE_ENCRYPTION_KEYS (the file encryption_key in the data folder)"
            )
        return self.api_key or (settings.API_KEY if self.base_url == settings.MODEL_BASE_URL else "")


def make_model_field(help_text: str) -> models.ForeignKey[LanguageModel | None, LanguageModel | None]:
    """A foreign key to a language model that protects it from deletion."""
    return models.ForeignKey(
        LanguageModel, null=True, blank=True, on_delete=models.PROTECT, related_name="+", help_text=help_text
    )


class TrainingStart(models.TextChoices):
    """What the policies of a round start from, unless the method says so itself (RDA)."""

    RANDOM = "random", "Random weights, as published"
    UPRIGHT = "upright", "A policy that stays up"
    BEST = "best", "The last round's best policy"
    """In the first round: a policy that stays up where the task has one, else random weights."""
    BEST_SHORT = "best_short", "The last best; later rounds train less"


class LoopSettings(models.Model):
    """The settings of a loop, shared by a study's arm (the plan) and an experiment (one run of it)."""

    task = models.CharField(max_length=40, choices=task_choices, default="Ant")
    method = models.CharField(max_length=40, choices=method_choices, default="icpl")
    judge = models.CharField(max_length=10, choices=judges.CHOICES, default=judges.IN_STUDIES)
    k = models.PositiveSmallIntegerField(
        "candidates per round (K)", default=6, validators=[MinValueValidator(1), MaxValueValidator(32)]
    )
    n = models.PositiveSmallIntegerField(
        "rounds (N)", default=5, validators=[MinValueValidator(1), MaxValueValidator(100)]
    )
    preset = models.CharField(max_length=10, choices=preset_choices, default="quick")
    training_start = models.CharField(
        "training starts from",
        max_length=10,
        choices=TrainingStart,
        default=TrainingStart.RANDOM,
        db_default="random",  # rows of a process that an upgrade has not reached yet
    )
    shared_experience = models.BooleanField(
        "candidates share their experience",
        default=False,
        db_default=False,
        help_text="Each policy of a round learns from what all of them did, under its own reward. Settings with SAC "
        "only. A candidate's result then depends on the others of its round, and scores are not comparable with the "
        "papers'.",
    )
    model = models.ForeignKey(
        LanguageModel,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Who writes the rewards. Empty: the offline writer.",
    )
    describer = make_model_field(
        "Who puts differences into words; a cheaper model will do. Empty: the one that writes."
    )
    judge_model = make_model_field("Who judges where a language model does. Empty: the one that writes.")
    vision = make_model_field("Who looks at frames of the clips, for the methods that ask for that.")
    prompt_set = models.ForeignKey(
        PromptSet,
        verbose_name="prompts",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Language models are asked in these words. An administrator uploads sets on the page Prompts. "
        "Empty: Prefine's own, or those of PREFINE_PROMPTS.",
    )
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
    """Options that differ from the method's defaults."""
    judge_options = models.JSONField("judge's options", default=dict, blank=True)

    class Meta:
        abstract = True

    def clean_fields(self, exclude: Collection[str] | None = None) -> None:
        """Skip the task, which may be a problem and not among the field's choices."""
        super().clean_fields({*(exclude or ()), "task"})

    def clean(self) -> None:
        try:
            info = self.task_info
        except ValueError as error:
            raise ValidationError({"task": str(error)}) from error
        chosen, judge = methods.METHODS.get(self.method), judges.JUDGES.get(self.judge)
        if chosen is None or judge is None:
            return  # clean_fields reports it
        if not self.medium.filmed:
            self._clean_problem(chosen)
        refusals = dict(judge.find_refusals(self, info.metric, chosen))
        if "judge" in refusals:
            raise ValidationError(refusals)
        if self.training_start == TrainingStart.UPRIGHT and not (
            self.medium.filmed and catalog.find_upright_policy(self.task, self.preset)
        ):
            text = f"{self.task_title} has no policy that stays up for these training settings. Choose another start."
            raise ValidationError({"training_start": text})
        if chosen.algorithm and self.medium.filmed and self._find_algorithm() != chosen.algorithm:
            raise ValidationError({"preset": self._describe_presets(chosen)})
        if self.shared_experience and self._find_algorithm() != "sac":
            text = "Only SAC learns from what others did: choose settings with SAC, or no shared experience."
            raise ValidationError({"shared_experience": text})
        if self.shared_experience and chosen.asks_pairs:
            text = f"{chosen.title} trains one policy, which has nobody to share its experience with."
            raise ValidationError({"shared_experience": text})
        if chosen.uses_metric and info.metric is None:
            text = f"{self.task_title} has no metric, and {chosen.title} cannot do without one."
            raise ValidationError({"method": text})
        if refusals:
            raise ValidationError(refusals)
        if self.prompt_set and (faults := self.prompt_set.faults):
            text = f"This version of Prefine cannot ask with {self.prompt_set}: {'; '.join(faults)}."
            raise ValidationError({"prompt_set": text})
        if self.k < chosen.least_k:
            raise ValidationError({"k": f"{chosen.title} needs at least {chosen.least_k} candidates per round."})
        if self.k > chosen.most_k:
            text = f"{chosen.title} trains at most {chosen.most_k} at once. Other seeds are experiments of their own."
            raise ValidationError({"k": text})
        try:
            self.options = self._read_options(chosen, judge)
        except ValueError as error:
            raise ValidationError({"options": str(error)}) from error
        if chosen.asks_pairs and 0 < float(chosen.value_of("seconds", self.options)) < 1:
            raise ValidationError({"options": "seconds: give 1 to 10, or 0 for whole episodes."})
        if chosen.rounds:
            self.n = chosen.rounds(self.k, self.options)
        try:
            self.judge_options = judge.check_options(self.judge_options)
        except ValueError as error:
            raise ValidationError({"judge_options": str(error)}) from error
        if chosen.pairs_by_vision and (self.vision is None or self.vision.is_offline):
            text = (
                f"A vision model answers the pairs of {chosen.title}: choose one. The offline writer sees no pictures."
            )
            raise ValidationError({"vision": text})
        if self.vision is None and (chosen.looks(self.options) or self.judge_frames):
            text = (
                "Frames of the clips are shown to a vision model: choose one, or have the method go by numbers "
                "(RDA: the option analyst = numbers), and the judge without frames."
            )
            raise ValidationError({"vision": text})

    def _read_options(self, chosen: Method, judge: Judge) -> dict[str, Any]:
        """The method's options, checked. A row that is there already keeps the defaults that it was made with: those
        that a vision model brings are for new rows. Raises ValueError.
        """
        sees = self.vision is not None and not self.vision.is_offline
        kept = {name: chosen.value_of(name, {}) for name in chosen.seeing} if sees and self.pk else {}
        return chosen.settings({**kept, **self.options}, sees, judge.asks_model)

    def _find_algorithm(self) -> str:
        """The algorithm of the training settings; empty where there are none."""
        presets = catalog.get_task(self.task).presets if self.medium.filmed else {}
        return presets[self.preset].algorithm if self.preset in presets else ""

    def _describe_presets(self, chosen: Method) -> str:
        """Which settings of the task a method can train with."""
        presets = catalog.get_task(self.task).presets
        able = [catalog.PRESETS[name] for name, one in presets.items() if one.algorithm == chosen.algorithm]
        listed = " or ".join(f"“{title}”" for title in able)
        advice = f"choose {listed}" if able else f"{self.task} has no such settings"
        return f"{chosen.title} trains with {chosen.algorithm.upper()}: {advice}."

    def _clean_problem(self, chosen: Method) -> None:
        if not chosen.reasoning:
            able = "; ".join(method.title for method in methods.OFFERED.values() if method.reasoning)
            raise ValidationError({"method": f"{chosen.title} designs rewards. Problems are solved by: {able}."})
        if self.model is None or self.model.is_offline:
            text = "The offline writer writes rewards and solves no problems: choose a language model (docs/models.md)."
            raise ValidationError({"model": text})

    def get_model(self, role: str) -> LanguageModel | None:
        """The language model in this role (llm.records.ROLES); None is the offline writer."""
        own = {"describer": self.describer, "judge": self.judge_model, "vision": self.vision}.get(role)
        return own or self.model

    @property
    def judge_frames(self) -> int:
        """Number of pictures of each clip for a vision model that judges; 0 for other judges."""
        return self.judge_info.count_frames(self.judge_options) if self.medium.filmed else 0

    @property
    def writes(self) -> bool:
        """Whether a language model, or the offline writer, writes its candidates."""
        known = methods.METHODS.get(self.method)
        return known is None or known.writes

    @property
    def asks_pairs(self) -> bool:
        """Whether its policy learns its reward from answers about pairs."""
        known = methods.METHODS.get(self.method)
        return known is not None and known.asks_pairs

    @property
    def judge_info(self) -> Judge:
        return judges.JUDGES[self.judge]

    @property
    def rounds(self) -> int:
        """The number of rounds: N, unless it follows from the method's budget."""
        chosen = methods.METHODS.get(self.method)
        return chosen.rounds_of(self.k, self.n, self.options) if chosen else self.n

    @property
    def task_info(self) -> lookup.TaskInfo:
        return lookup.find_task(self.task)

    @property
    def task_title(self) -> str:
        return lookup.find_title(self.task)

    @property
    def medium(self) -> Medium:
        """How people get to know candidates: by watching or by reading."""
        return get_medium(self.task)
