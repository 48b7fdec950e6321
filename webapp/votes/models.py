"""Blinded votes: polls, pairs, evaluators, what each evaluator was shown, and their votes."""

from __future__ import annotations

import hashlib
import secrets
import uuid
from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator, URLValidator
from django.db import models
from django.db.models.functions import Now
from django.urls import reverse

from webapp.experiments.models import Candidate, Clip
from webapp.problems import media
from webapp.problems.medium import Medium
from webapp.studies.models import new_token
from webapp.studies.models.languages import Speaker, Spoken, Translation


def new_seed() -> int:
    return secrets.randbits(48)


class Poll(Spoken):
    """Pairs of final clips, or of answers, that N evaluators compare; the analysis is fixed before the first vote."""

    class Status(models.TextChoices):
        DRAFT = "draft", "Draft: links do not open yet"
        OPEN = "open", "Open"
        CLOSED = "closed", "Closed: no more votes, results can be seen"

    class Form(models.TextChoices):
        PAIRS = "pairs", "Two are compared"
        RATINGS = "ratings", "Films are rated one at a time: does the robot do what its task says?"
        GRADES = "grades", "Answers are graded one at a time, the final answer and the reasoning apart"

    class Correction(models.TextChoices):
        HOLM = "holm", "Holm"
        BONFERRONI = "bonferroni", "Bonferroni"
        NONE = "none", "None"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    form = models.CharField(max_length=8, choices=Form, default=Form.PAIRS, db_default="pairs", editable=False)
    most_points = models.PositiveSmallIntegerField(
        "points of a full answer",
        default=7,
        db_default=7,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="Where answers are graded: 7 for mathematics, as published; for physics and programming those of the "
        "problem, of which a part can be given.",
    )
    title = models.CharField(max_length=120, help_text="Evaluators read it. It must not name what is compared.")
    question = models.CharField(
        max_length=200,
        blank=True,
        help_text="Asked above every pair. Empty: the question of each pair's task, for example: Which robot runs "
        "forward faster?",
    )
    instructions = models.TextField(
        help_text="What evaluators should look at, in plain words: the task and what counts. Plain text."
    )
    evaluators_wanted = models.PositiveSmallIntegerField(
        "evaluators (N)",
        default=20,
        validators=[MinValueValidator(1), MaxValueValidator(5000)],
        help_text="The vote closes by itself when this many people have answered every pair. 20 as published; see the "
        "power table on the vote's page.",
    )
    allow_tie = models.BooleanField(
        "offer “no difference”",
        default=False,
        help_text="Off: forced choice, as published. On: such answers are counted but take no part in the test.",
    )
    ask_strength = models.BooleanField(
        "ask how much better", default=False, help_text="Slightly, clearly or much: described, not tested."
    )
    repeats = models.PositiveSmallIntegerField(
        "pairs to show twice",
        default=0,
        help_text="How many pairs come again at the end, drawn for each evaluator, with their sides exchanged. How "
        "often the answers agree is described; second answers count nowhere else.",
    )
    checks_to_pass = models.PositiveSmallIntegerField(
        "attention checks to pass",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Evaluators with fewer right answers to attention checks are left out of the main estimate; the "
        "estimate with everybody stands beside it. Empty: all of them. Fixed with the plan.",
    )
    alpha = models.FloatField(
        "significance level",
        default=0.05,
        validators=[MinValueValidator(0.0001), MaxValueValidator(0.2)],
        help_text="Of the whole vote: with several pairs the correction below keeps it. 0.05 is usual.",
    )
    correction = models.CharField(
        max_length=10,
        choices=Correction,
        default=Correction.HOLM,
        help_text="Of the p values where there are several pairs. Holm is never worse than Bonferroni.",
    )
    hypothesis = models.TextField(
        blank=True,
        help_text="What you expect and why, and which evaluators you will leave out: part of the fixed plan. "
        "Evaluators never see it.",
    )
    consent_text = models.TextField(
        help_text="Purpose, procedure, duration, risks, data kept and how long, voluntary, withdrawal. Plain text."
    )
    consent_version = models.CharField(max_length=20, default="1")
    contact = models.CharField(max_length=200, help_text="Whom an evaluator can write to; shown on every page.")
    thanks_text = models.TextField(blank=True, help_text="Shown after the last pair. Empty: a plain thank you.")
    completion_code = models.CharField(
        max_length=40, blank=True, help_text="Shown at the end, for a recruitment site. Empty: none."
    )
    completion_url = models.CharField(
        "link back",
        max_length=300,
        blank=True,
        validators=[URLValidator(["https", "http"], message="An address starts with https://.")],
        help_text="Where the last page's link leads back to, for example the address that Prolific gives you.",
    )
    recruiting = models.BooleanField(
        "open recruitment link",
        default=False,
        help_text="One link for everybody, for Prolific and the like. Off: personal links alone, which guarantee one "
        "vote each.",
    )
    recruitment_token = models.CharField(max_length=64, unique=True, default=new_token, editable=False)
    seed = models.PositiveBigIntegerField(default=new_seed, editable=False)
    """Sides and orders are drawn from it (poll_enrolment.py)."""
    status = models.CharField(max_length=8, choices=Status, default=Status.DRAFT, editable=False)
    plan = models.TextField(blank=True, editable=False)
    """The analysis plan as it stood when the poll was opened."""
    opened_at = models.DateTimeField(null=True, editable=False)
    closed_at = models.DateTimeField(null=True, editable=False)
    closed_by = models.CharField(max_length=150, blank=True, editable=False)
    """Who closed it early; empty where N was reached."""
    unblinded_at = models.DateTimeField(null=True, editable=False)
    labels_given = models.PositiveIntegerField(default=0, editable=False)
    """The highest number in labels of evaluators; no number is used again, even after a deletion."""
    unblinded_by = models.CharField(max_length=150, blank=True, editable=False)
    """Who first looked at the results."""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "vote"
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("votes:poll", args=[self.public_id])

    @property
    def is_single(self) -> bool:
        """Whether evaluators see one film or answer at a time; its pairs then have a first side alone."""
        return self.form != self.Form.PAIRS

    @property
    def consent_hash(self) -> str:
        return hashlib.sha256(f"{self.consent_version}\n{self.consent_text}".encode()).hexdigest()

    @property
    def plan_hash(self) -> str:
        return hashlib.sha256(self.plan.encode()).hexdigest()


class PollTranslation(Translation):
    """A text that evaluators read, in another language."""

    poll = models.ForeignKey(Poll, on_delete=models.CASCADE, related_name="translations")

    class Meta(Translation.Meta):
        constraints = [
            models.UniqueConstraint(fields=["poll", "language", "source_hash"], name="one_poll_text_per_language")
        ]


class Pair(models.Model):
    """Two final clips, or two answers to a problem. `first` and `second` are names of roles: which is on the left is
    drawn for each evaluator. Where one at a time is rated or graded (Poll.is_single), the first is all there is.
    """

    class Purpose(models.TextChoices):
        ASKED = "asked", "To compare: its answers count"
        GOLD = "gold", "Attention check: the first is plainly better"
        SAME = "same", "Attention check: the same on both sides, right is “no difference”"

    poll = models.ForeignKey(Poll, on_delete=models.CASCADE, related_name="pairs")
    position = models.PositiveSmallIntegerField("number", editable=False)
    first = models.ForeignKey(Clip, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    second = models.ForeignKey(Clip, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    first_answer = models.ForeignKey(Candidate, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    second_answer = models.ForeignKey(Candidate, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    """The second answer in place of the clips, where a problem was solved."""
    name = models.CharField(
        max_length=250,
        blank=True,
        help_text="What plan and results call this pair; evaluators never see it. Empty: its arms, and what tells it "
        "from the other pairs.",
    )
    """Fixed when the poll opens. Empty in polls that an earlier version opened; `pair_names.name_pairs` names those."""
    purpose = models.CharField(
        max_length=5,
        choices=Purpose,
        default=Purpose.ASKED,
        help_text="Evaluators are never told which pairs are checks, nor how they did.",
    )
    question = models.CharField(max_length=200, blank=True, editable=False)
    """What is asked above it, fixed when the poll opens; empty in polls that an earlier version opened."""
    first_arm = models.CharField(max_length=60, blank=True)
    second_arm = models.CharField(max_length=60, blank=True)
    first_file = models.UUIDField(default=uuid.uuid4, editable=False)
    second_file = models.UUIDField(default=uuid.uuid4, editable=False)
    """The poll's own copies, made at equal size when it opens, so that later changes do not affect them."""
    origin = models.JSONField(default=dict, editable=False)
    """What each clip or answer was when the poll opened: experiment, task, method, seed, candidate."""
    answers = models.JSONField(default=dict, editable=False)
    """The poll's own copy of two answers and their problem, made when it opens (problem_pairs.py); empty for clips."""

    class Meta:
        ordering = ["position", "pk"]
        constraints = [models.UniqueConstraint(fields=["poll", "position"], name="one_pair_per_position")]

    def __str__(self) -> str:
        return self.name or self.arms

    @property
    def arms(self) -> str:
        return self.first_arm if self.poll.is_single else f"{self.first_arm} against {self.second_arm}"

    @property
    def is_check(self) -> bool:
        return self.purpose != self.Purpose.ASKED

    @property
    def medium(self) -> Medium:
        """Whether the pair is watched or read."""
        read = self.answers or self.first_answer_id or self.second_answer_id
        return media.answers.MEDIUM if read else media.films.MEDIUM

    def save(self, *args: Any, **kwargs: Any) -> None:
        """A new pair is the last."""
        if self.position is None:
            last = Pair.objects.filter(poll=self.poll_id).aggregate(last=models.Max("position"))["last"]
            self.position = (last or 0) + 1
        super().save(*args, **kwargs)


class Evaluator(Speaker):
    """A person who votes, with a personal link or by the open one. The only personal data is a recruitment id."""

    poll = models.ForeignKey(Poll, on_delete=models.CASCADE, related_name="evaluators")
    token = models.CharField(max_length=64, unique=True, default=new_token, editable=False)
    label = models.CharField(max_length=40)
    external_id = models.CharField(max_length=64, blank=True)
    """The recruitment site's id, for paying. No export contains it."""
    slot = models.PositiveIntegerField(null=True)
    """Place in the balanced plan of sides; the slot of somebody who left is given to the next person."""
    consented_at = models.DateTimeField(null=True)
    consent_version = models.CharField(max_length=20, blank=True)
    consent_hash = models.CharField(max_length=64, blank=True)
    finished_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["poll", "label"], name="one_evaluator_label_per_poll"),
            models.UniqueConstraint(
                fields=["poll", "external_id"],
                condition=~models.Q(external_id=""),
                name="one_evaluator_per_id",
            ),
        ]

    def __str__(self) -> str:
        return self.label

    def get_absolute_url(self) -> str:
        return reverse("evaluate", args=[self.token])


class Showing(models.Model):
    """A pair as one evaluator sees it: when, which clip on the left, under which addresses."""

    evaluator = models.ForeignKey(Evaluator, on_delete=models.CASCADE, related_name="showings")
    pair = models.ForeignKey(Pair, on_delete=models.PROTECT, related_name="showings")
    position = models.PositiveSmallIntegerField()
    first_left = models.BooleanField()
    again = models.BooleanField(default=False)
    """The second time that this person sees the pair, with its sides exchanged."""
    taken_back = models.PositiveSmallIntegerField(default=0)
    """How many answers to it were taken back."""
    token = models.CharField(max_length=64, unique=True, default=new_token)
    left_token = models.CharField(max_length=64, unique=True, default=new_token)
    right_token = models.CharField(max_length=64, unique=True, default=new_token)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["evaluator", "pair", "again"], name="one_showing_per_pair"),
            models.UniqueConstraint(fields=["evaluator", "position"], name="one_showing_per_place"),
        ]

    def __str__(self) -> str:
        return f"pair {self.pair.position}, as {self.evaluator} sees it"


class Vote(models.Model):
    """An evaluator's answer about a pair. Written before the page goes on; deleted when it is taken back."""

    class Choice(models.TextChoices):
        LEFT = "left"
        RIGHT = "right"
        SAME = "same"
        RATED = "rated"
        """One film or answer was rated; `rating` says how."""

    showing = models.OneToOneField(Showing, on_delete=models.CASCADE, related_name="vote")
    choice = models.CharField(max_length=5, choices=Choice)
    strength = models.PositiveSmallIntegerField(null=True)
    """1 slightly, 2 clearly, 3 much; null if it was not asked or there is no difference."""
    rating = models.FloatField(null=True)
    """Of a film, from 1 to 5; of an answer, the points of its final answer. Null for pairs."""
    reasoning = models.FloatField(null=True)
    """The points of a written answer's reasoning; null for all else."""
    client = models.JSONField(default=dict)
    """What the browser measured: milliseconds to decide, plays, focus lost."""
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    """By the database's clock, which the end of the undo time is compared with."""

    def __str__(self) -> str:
        return f"{self.showing}: {self.choice}"

    @property
    def answer(self) -> str:
        """first, second or equal, whichever side they were on; rated where there was one side alone."""
        if self.choice == self.Choice.RATED:
            return "rated"
        if self.choice == self.Choice.SAME:
            return "equal"
        return "first" if (self.choice == self.Choice.LEFT) == self.showing.first_left else "second"

    @property
    def is_right(self) -> bool:
        """Whether it is the known answer, for an attention check."""
        return self.answer == ("first" if self.showing.pair.purpose == Pair.Purpose.GOLD else "equal")
