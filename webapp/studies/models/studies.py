"""Studies, their arms, and the people in them."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator, URLValidator
from django.db import models
from django.urls import reverse

from webapp.base.text_lines import split_lines
from webapp.experiments.models import Experiment, LoopSettings
from webapp.studies.models.languages import Speaker, Spoken


def new_token() -> str:
    return secrets.token_urlsafe(24)


MOST_REASONS, LONGEST_REASON = 12, 60


def check_reasons(text: str) -> None:
    """Reasons are buttons below a round: few, short, and each there once."""
    lines = split_lines(text)
    if len(lines) > MOST_REASONS:
        raise ValidationError(f"Give at most {MOST_REASONS} reasons.")
    if any(len(line) > LONGEST_REASON for line in lines):
        raise ValidationError(f"A reason is a button: at most {LONGEST_REASON} characters.")
    if len(set(lines)) < len(lines):
        raise ValidationError("A reason is there twice.")


PARAMETER = RegexValidator(r"^[A-Za-z0-9_.-]+$", "Letters, digits, dots, dashes and underscores only.")


class Outcome(models.TextChoices):
    """How somebody's part in a study ended."""

    FINISHED = "finished", "Finished"
    WITHDRAWN = "withdrawn", "Left the study"
    NOT_ELIGIBLE = "not_eligible", "Did not agree, or the study was full"
    FAILED = "failed", "Did not pass the comprehension check"
    STOPPED = "stopped", "Stopped: cancelled, or after a failure"


class StudyQuerySet(models.QuerySet["Study"]):
    def count_people(self) -> StudyQuerySet:
        """Each study with `people` and `done`: its participants and those of them who finished, without pilots."""
        real = models.Q(participants__pilot=False)
        finished = models.Count("participants", filter=real & models.Q(participants__finished_at__isnull=False))
        return self.annotate(people=models.Count("participants", filter=real), done=finished)


class Study(Spoken):
    """What a group of people is asked to do: who may take part, what they read, and the arms they are spread over."""

    class Status(models.TextChoices):
        DRAFT = "draft", "Draft: links do not open yet"
        OPEN = "open", "Open"
        CLOSED = "closed", "Closed: nobody new can begin"

    class Assigning(models.TextChoices):
        BALANCED = "balanced", "Balanced: the arm with fewest people"
        SEEDED = "seeded", "Seeded: drawn for each person"
        BY_HAND = "by hand", "By hand: before the person comes"

    title = models.CharField(max_length=120, help_text="Participants see it on the consent page.")
    description = models.TextField(blank=True)
    """For experimenters; no participant reads it."""
    status = models.CharField(max_length=8, choices=Status, default=Status.DRAFT)
    demonstration = models.BooleanField(default=False, help_text="Anybody may start it from the home page.")
    opens_at = models.DateTimeField(null=True, blank=True)
    closes_at = models.DateTimeField(null=True, blank=True)
    """From then on nobody new may consent; participants go on until the study is closed."""
    closed_at = models.DateTimeField(null=True, editable=False)
    """When somebody last closed it; the retention period counts from here, or from the last choice after it."""
    deleted_at = models.DateTimeField(null=True, editable=False)

    ethics_protocol = models.CharField(max_length=120, blank=True)
    ethics_expires_on = models.DateField(null=True, blank=True)
    """The last day on which people may consent."""
    retention_days = models.PositiveIntegerField(default=3650, null=True, blank=True)

    consent_text = models.TextField(
        help_text="Purpose, procedure, duration, risks, data kept and how long, voluntary, withdrawal. Plain text."
    )
    consent_version = models.CharField(max_length=20, default="1")
    contact = models.CharField(max_length=200, help_text="Whom a participant can write to; shown on every page.")
    instructions = models.TextField(blank=True)
    practice = models.BooleanField("practice trial", default=False)
    most_attempts = models.PositiveSmallIntegerField(
        "attempts", default=2, validators=[MinValueValidator(1), MaxValueValidator(20)]
    )
    """How many attempts at the comprehension check a participant has."""
    reasons_best = models.TextField("reasons for the best", blank=True, validators=[check_reasons])
    """Buttons below a round, one a line; empty: those of the task."""
    reasons_worst = models.TextField("reasons for the worst", blank=True, validators=[check_reasons])
    debriefing = models.TextField(blank=True)
    thanks_text = models.TextField(blank=True)

    quota = models.PositiveIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    """How many may consent; those who left, were not eligible or failed the check make room for others."""
    experiments_each = models.PositiveSmallIntegerField(
        "experiments each", default=1, validators=[MinValueValidator(1), MaxValueValidator(20)]
    )
    interleaved = models.BooleanField(
        "go on meanwhile",
        default=False,
        db_default=False,
        help_text="While a policy trains between two sessions of pairs, people begin their next experiment, and come "
        "back to the first when it asks again. Off: one experiment after another.",
    )
    assignment = models.CharField(max_length=10, choices=Assigning, default=Assigning.BALANCED)
    seed = models.PositiveIntegerField(default=0, help_text="Participants' experiments take seeds from here on.")

    open_link = models.CharField(max_length=64, unique=True, default=new_token, editable=False)
    recruiting = models.BooleanField("open link", default=False)
    """Whether the open link takes in anybody who follows it."""
    parameter_person = models.CharField(max_length=40, default="PROLIFIC_PID", validators=[PARAMETER])
    parameter_study = models.CharField(max_length=40, default="STUDY_ID", validators=[PARAMETER])
    parameter_session = models.CharField(max_length=40, default="SESSION_ID", validators=[PARAMETER])
    parameter_required = models.BooleanField("only with an id", default=False)
    """Whether the open link takes in only people with a recruitment id."""

    notify_email = models.BooleanField("by e-mail", default=False)
    notify_push = models.BooleanField("by browser notification", default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = StudyQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "studies"
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.title

    @property
    def consent_hash(self) -> str:
        return hashlib.sha256(f"{self.consent_version}\n{self.consent_text}".encode()).hexdigest()

    @property
    def has_begun(self) -> bool:
        """Whether a participant other than a pilot has consented; from then on what people do cannot be changed."""
        return self.participants.exclude_pilots().filter(consented_at__isnull=False).exists()

    def publish_consent(self, language: str = "") -> ConsentText:
        """Keep the text as it is now, because from here on somebody may have read it."""
        values = {"version": self.consent_version, "text": self.consent_text, "language": language or self.language}
        return ConsentText.objects.get_or_create(study=self, hash=self.consent_hash, defaults=values)[0]


class Arm(LoopSettings):
    """One of the plans that a study compares: the settings of its participants' experiments."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="arms")
    name = models.CharField(max_length=40, default="A")
    """For experimenters; no participant reads it."""
    position = models.PositiveSmallIntegerField(default=0)
    quota = models.PositiveIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    panel = models.PositiveSmallIntegerField(
        "people per experiment", default=1, validators=[MinValueValidator(1), MaxValueValidator(100)]
    )
    overlap = models.PositiveSmallIntegerField(
        "answers per pair",
        default=1,
        db_default=1,
        validators=[MinValueValidator(1), MaxValueValidator(20)],
        help_text="Where people answer pairs of segments: how many of an experiment's people answer each, for "
        "agreement. With 1 they share the pairs.",
    )

    class Meta:
        ordering = ["position", "pk"]
        constraints = [models.UniqueConstraint(fields=["study", "name"], name="one_arm_per_name")]

    def __str__(self) -> str:
        return f"{self.study}: {self.name}"

    @property
    def started(self) -> bool:
        """Whether a participant other than a pilot has consented; from then on the plan cannot be changed."""
        people = self.study.participants.exclude_pilots().filter(consented_at__isnull=False)
        return self.assignments.filter(participant__in=people).exists()


class ConsentText(models.Model):
    """A published consent text; never changed. A participant's consent names its hash."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="consent_texts")
    version = models.CharField(max_length=20)
    text = models.TextField()
    language = models.CharField(max_length=10, default="en")
    hash = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["study", "hash"], name="one_consent_text_per_hash")]

    def __str__(self) -> str:
        return f"{self.study}, consent version {self.version}"


class Question(models.Model):
    """A question of the comprehension check."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="questions")
    position = models.PositiveSmallIntegerField(default=0)
    text = models.CharField("question", max_length=300)
    answers = models.TextField(help_text="One a line, two at least.")
    correct = models.PositiveSmallIntegerField("correct answer", default=1, help_text="Its number, from 1.")
    explanation = models.CharField(
        max_length=500, blank=True, help_text="Shown to somebody who chose another, before the next attempt."
    )
    asked_of = models.CharField(
        max_length=6,
        blank=True,
        default="",
        db_default="",
        choices=[("", "Everybody"), ("rounds", "Who picks in rounds"), ("pairs", "Who answers pairs")],
    )

    class Meta:
        ordering = ["position", "pk"]

    def __str__(self) -> str:
        return self.text

    @property
    def choices(self) -> list[str]:
        return split_lines(self.answers)

    @property
    def correct_answer(self) -> str:
        return self.choices[self.correct - 1]

    def clean(self) -> None:
        if len(self.choices) < 2:
            raise ValidationError({"answers": "Give at least two answers, one a line."})
        if not 1 <= self.correct <= len(self.choices):
            raise ValidationError({"correct": f"There are {len(self.choices)} answers: give a number from 1 to that."})


class CompletionCode(models.Model):
    """The code that a participant gives the recruitment site when their part ended with this outcome."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="codes")
    outcome = models.CharField(max_length=12, choices=Outcome, default=Outcome.FINISHED)
    code = models.CharField(max_length=40)
    url = models.CharField(
        "send them to",
        max_length=300,
        blank=True,
        validators=[URLValidator(["https"], message="Give an address that begins with https://.")],
        help_text="The page of the recruitment site that takes the code. Empty: the code alone is shown.",
    )

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["study", "outcome"], name="one_code_per_outcome")]

    def __str__(self) -> str:
        return f"{self.get_outcome_display()}: {self.code}"


class ParticipantQuerySet(models.QuerySet["Participant"]):
    def exclude_pilots(self) -> ParticipantQuerySet:
        """The people who count: in quotas, balance, progress, results, retention numbers and exports."""
        return self.filter(pilot=False)

    def pilots(self) -> ParticipantQuerySet:
        return self.filter(pilot=True)


class Participant(Speaker):
    """A person behind a personal link. No personal data."""

    class Source(models.TextChoices):
        LINK = "link", "Personal link"
        OPEN = "open link", "Open link"
        RECRUITMENT = "recruitment", "Recruitment site"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="participants")
    token = models.CharField(max_length=64, unique=True, default=new_token, editable=False)
    label = models.CharField(max_length=40, help_text="A pseudonym for exports, for example P07.")
    source = models.CharField(max_length=12, choices=Source, default=Source.LINK, editable=False)
    pilot = models.BooleanField(default=False, editable=False)
    """Somebody who tries the study out, also as a draft; counted nowhere (ParticipantQuerySet.exclude_pilots)."""
    timezone = models.CharField(max_length=64, blank=True, editable=False)
    """The time zone as the browser names it, for example Europe/Berlin."""
    consented_at = models.DateTimeField(null=True, editable=False)
    consent_version = models.CharField(max_length=20, blank=True, editable=False)
    consent_hash = models.CharField(max_length=64, blank=True, editable=False)
    instructed_at = models.DateTimeField(null=True, editable=False)
    practised_at = models.DateTimeField(null=True, editable=False)
    understood_at = models.DateTimeField(null=True, editable=False)
    attempts = models.PositiveSmallIntegerField(default=0, editable=False)
    """How many attempts at the comprehension check the person has made."""
    outcome = models.CharField(max_length=12, choices=Outcome, blank=True, editable=False)
    """Empty while the person is in the study, or has not come yet."""
    withdrawn_at = models.DateTimeField(null=True, editable=False)
    finished_at = models.DateTimeField(null=True, editable=False)
    debriefed_at = models.DateTimeField(null=True, editable=False)
    deleted_at = models.DateTimeField(null=True, editable=False)
    """When this person's data was deleted; the row stays, so that counts and the audit log stay right."""
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ParticipantQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "label"], name="one_label_per_study")]

    def __str__(self) -> str:
        return self.label

    def get_absolute_url(self) -> str:
        return reverse("studio", args=[self.token])

    @property
    def from_recruitment_site(self) -> bool:
        return self.source == self.Source.RECRUITMENT

    @property
    def current(self) -> Assignment | None:
        """The person's place in their sequence: of the experiments without a winner the one that they turned to last,
        or the first; else the last one.
        """
        return find_current(self.places)

    @property
    def places(self) -> models.QuerySet[Assignment]:
        """The sequence, read from the database each time unless it was prefetched (studio.pages.prefetch_places)."""
        prefetched = "assignments" in getattr(self, "_prefetched_objects_cache", {})
        return self.assignments.all() if prefetched else self.assignments.select_related("arm", "experiment")

    @property
    def experiment(self) -> Experiment | None:
        """The person's current experiment; None before it has begun."""
        current = self.current
        return current.experiment if current else None


class Recruit(models.Model):
    """The key table: the recruitment site's id of a participant. Only the export made for paying contains it."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="recruits")
    participant = models.OneToOneField(Participant, on_delete=models.CASCADE, related_name="recruit")
    external_id = models.CharField(max_length=100)
    parameters = models.JSONField(default=dict)
    """The parameters of the link that the study names."""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "external_id"], name="one_recruit_per_id")]

    def __str__(self) -> str:
        return f"{self.participant}, recruited"


class Assignment(models.Model):
    """A person's place in an arm: the `position`-th experiment that they judge, alone or with a panel."""

    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="assignments")
    arm = models.ForeignKey(Arm, on_delete=models.PROTECT, related_name="assignments")
    experiment = models.ForeignKey(Experiment, null=True, on_delete=models.CASCADE, related_name="assignments")
    """None until it is the person's turn to begin it."""
    position = models.PositiveSmallIntegerField(default=1)
    attended_at = models.DateTimeField(null=True)
    """When the person last turned to it from another one, in an interleaved study."""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["position", "pk"]
        constraints = [models.UniqueConstraint(fields=["participant", "position"], name="one_assignment_per_position")]

    def __str__(self) -> str:
        return f"{self.participant}, {self.position}: {self.arm.name}"


def find_current(places: Iterable[Assignment]) -> Assignment | None:
    """Of one person's places in order: the one without a winner that was turned to last, or the first such one, else
    the last.
    """
    every = list(places)
    left = [one for one in every if one.experiment is None or one.experiment.status != Experiment.Status.FINISHED]
    turned = [(one.attended_at, one) for one in left if one.attended_at]
    if turned:
        return max(turned, key=lambda pair: pair[0])[1]
    return left[0] if left else every[-1] if every else None
