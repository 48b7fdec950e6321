"""Questionnaires of a study, and what participants answered."""

from __future__ import annotations

import re

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

VARIABLE = RegexValidator(
    r"\A[A-Za-z][A-Za-z0-9_]*\Z", "Begin with a letter; then letters, digits and underscores only."
)
NUMBERS = r"\A\s*\d+(\s*,\s*\d+)*\s*\Z"
ROUNDS = RegexValidator(NUMBERS, "Give round numbers separated by commas, for example 1, 3.")
QUESTIONNAIRE_FIELDS = ("title", "intro")
ITEM_FIELDS = ("text", "hint", "options", "other_label", "statements", "low_label", "high_label", "unit")
"""Texts that participants read."""
ROWS = RegexValidator(NUMBERS, "Give row numbers separated by commas, for example 2, 4.")


class Questionnaire(models.Model):
    """A page of items that participants answer at one moment of the study, or at several."""

    class Placement(models.TextChoices):
        BEFORE = "before", "Before the first round"
        ROUNDS = "rounds", "Between rounds"
        EXPERIMENT = "experiment", "After each experiment"
        AFTER = "after", "At the end, before the debriefing"

    class Score(models.TextChoices):
        NONE = "", "None"
        SUS = "sus", "System Usability Scale, 0 to 100"
        TLX = "tlx", "NASA-TLX unweighted, 0 to 100"
        MEAN = "mean", "Mean of all scales and rows"

    study = models.ForeignKey("studies.Study", on_delete=models.CASCADE, related_name="questionnaires")
    position = models.PositiveSmallIntegerField(default=0)
    title = models.CharField(max_length=120, help_text="Participants read it at the top of the page.")
    intro = models.TextField("introduction", blank=True, help_text="Shown below the title. Plain text.")
    placement = models.CharField("when", max_length=10, choices=Placement, default=Placement.BEFORE)
    every = models.PositiveSmallIntegerField(
        "after every",
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="1: after every round, 2: after every second one.",
    )
    rounds = models.CharField(
        "or after these rounds",
        max_length=100,
        blank=True,
        validators=[ROUNDS],
        help_text="For example 1, 3. Empty: as given beside.",
    )
    arms = models.JSONField(default=list, blank=True)
    """Primary keys of the arms whose participants are asked; empty: everybody is."""
    shuffle = models.BooleanField(
        "random order",
        default=False,
        help_text="Each person gets the questions, and the rows of a grid, in an order of their own. Texts stay in "
        "place, and questions stay below their text.",
    )
    score = models.CharField(max_length=4, choices=Score, blank=True, default=Score.NONE)
    active = models.BooleanField(
        "shown to participants", default=True, help_text="Off: nobody is asked from now on; answers stay."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["position", "pk"]

    def __str__(self) -> str:
        return self.title

    @property
    def answered(self) -> bool:
        """Whether somebody who is no pilot has sent answers; from then on the questions cannot be changed."""
        return self.responses.filter(participant__pilot=False).exclude(sent_at=None).exists()

    def follows_round(self, number: int) -> bool:
        """Whether it is asked after the round with this number."""
        if self.rounds.strip():
            return number in read_numbers(self.rounds)
        return number % self.every == 0


def read_numbers(text: str) -> set[int]:
    return {int(found) for found in re.findall(r"\d+", text)}


class Item(models.Model):
    """A question of a questionnaire, or a text between questions."""

    questionnaire = models.ForeignKey(Questionnaire, on_delete=models.CASCADE, related_name="items")
    position = models.PositiveSmallIntegerField(default=0)
    variable = models.CharField(
        "name in the export", max_length=40, validators=[VARIABLE], help_text="Its column, for example age."
    )
    kind = models.CharField(max_length=10)
    """A name in webapp.studies.questionnaires.kinds.KINDS."""
    text = models.TextField("question")
    hint = models.CharField(max_length=300, blank=True, help_text="Shown below the question in small letters.")
    required = models.BooleanField("must be answered", default=True)
    options = models.TextField(blank=True, help_text="One a line.")
    other_label = models.CharField(
        "last option, with a field for text",
        max_length=60,
        blank=True,
        default="",
        db_default="",
        help_text="For example Other. People who choose it write what they mean. Empty: there is none.",
    )
    statements = models.TextField("rows", blank=True, help_text="One a line; each is rated on the scale.")
    reversed_rows = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        validators=[ROWS],
        help_text="Numbers of the rows that say the opposite, for example 2, 4. The score turns their answers round; "
        "the export has them as given.",
    )
    steps = models.PositiveSmallIntegerField(
        "steps of the scale", default=7, validators=[MinValueValidator(2), MaxValueValidator(21)]
    )
    low_label = models.CharField("left end", max_length=60, blank=True)
    high_label = models.CharField("right end", max_length=60, blank=True)
    lowest = models.FloatField("smallest", null=True, blank=True)
    highest = models.FloatField("largest", null=True, blank=True)
    unit = models.CharField(max_length=20, blank=True, help_text="Shown behind the field, for example years.")
    shown_when = models.ForeignKey("self", null=True, blank=True, on_delete=models.RESTRICT, related_name="dependents")
    """The item that must have one of `shown_codes` as its answer; None: the item is always shown."""
    shown_codes = models.JSONField(default=list, blank=True)

    class Meta:
        ordering = ["position", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["questionnaire", "variable"], name="one_item_per_variable"),
        ]

    def __str__(self) -> str:
        return self.variable


class Response(models.Model):
    """A questionnaire as one participant was shown it at one moment; answered once it is sent."""

    questionnaire = models.ForeignKey(Questionnaire, on_delete=models.CASCADE, related_name="responses")
    participant = models.ForeignKey("studies.Participant", on_delete=models.CASCADE, related_name="responses")
    experiment = models.ForeignKey(
        "experiments.Experiment", null=True, on_delete=models.CASCADE, related_name="responses"
    )
    """None for a questionnaire that is asked once in the study."""
    round = models.PositiveSmallIntegerField(default=0)
    """The round that it followed; 0 if it followed none."""
    order = models.JSONField(default=list)
    """Variables of the items in the order shown."""
    opened_at = models.DateTimeField(db_default=Now(), editable=False)
    sent_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["questionnaire", "participant", "experiment", "round"], name="one_response_per_moment"
            ),
            models.UniqueConstraint(
                fields=["questionnaire", "participant", "round"],
                condition=Q(experiment=None),
                name="one_response_per_study",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.questionnaire} of {self.participant}"

    @property
    def seconds(self) -> float | None:
        """From opening the page to sending the answers, by the server's clock."""
        return round((self.sent_at - self.opened_at).total_seconds(), 3) if self.sent_at else None


class Answer(models.Model):
    """One participant's answer to one item at one moment."""

    response = models.ForeignKey(Response, on_delete=models.CASCADE, related_name="answers")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="answers")
    value = models.JSONField()
    """The answer, as the item's kind stores it."""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["response", "item"], name="one_answer_per_item")]

    def __str__(self) -> str:
        return f"{self.item} of {self.response}"
