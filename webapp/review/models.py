"""What people were shown, how they watched it, and what they chose."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from webapp.experiments.models import Candidate, Clip, PairSession, Request, Segment, SegmentPair
from webapp.studies.models import Participant, Study, new_token

WATCH_SECONDS = 5
"""How much of each clip must have been watched before a choice can be confirmed; all of a shorter one."""


class Screening(models.Model):
    """A Judge or Choose request as one participant sees it: the realised order, with its seed."""

    request = models.ForeignKey(Request, on_delete=models.CASCADE, related_name="screenings")
    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="screenings")
    token = models.CharField(max_length=64, unique=True, default=new_token)
    seed = models.PositiveBigIntegerField()
    order = models.JSONField()
    """Candidate primary keys in the order shown; the first is letter A."""
    opened_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["request", "participant"], name="one_screening_per_viewer")]

    watch_seconds = WATCH_SECONDS

    def __str__(self) -> str:
        return f"{self.request.title}, as {self.participant} sees it"


class ClipTicket(models.Model):
    """An address of a clip for one viewer on one page: opaque, and different everywhere.

    All clips of one page are sent at equal length: the longest one's, rounded up (webapp.review.media).
    """

    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="tickets")
    clip = models.ForeignKey(Clip, on_delete=models.CASCADE, related_name="tickets")
    shown_in = models.CharField(max_length=64, blank=True, default="")
    """The token of the screening or trial; empty for practice and the winner."""
    token = models.CharField(max_length=64, unique=True, default=new_token)
    size = models.PositiveBigIntegerField(default=0)
    """Bytes as sent, padding included; 0 if the file is sent without padding."""
    poster_size = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["participant", "clip", "shown_in"], name="one_ticket_per_page")]

    def __str__(self) -> str:
        return f"{self.clip}, for {self.participant}"


class Vote(models.Model):
    """A confirmed choice. Written before the page says thank you; can be undone until it is locked; never deleted."""

    request = models.ForeignKey(Request, on_delete=models.CASCADE, related_name="votes")
    screening = models.ForeignKey(Screening, on_delete=models.CASCADE, related_name="votes")
    best = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="+")
    worst = models.ForeignKey(Candidate, null=True, on_delete=models.CASCADE, related_name="+")
    cannot_tell = models.BooleanField(default=False)
    """The person could not judge; best and worst were then drawn from the screening's seed."""
    broken = models.BooleanField(default=False)
    """True if they could not judge because something was wrong with the videos."""
    reason = models.TextField(blank=True, max_length=2000)
    tags = models.JSONField(default=list)
    client = models.JSONField(default=dict)
    """What the browser measured: see webapp.review.telemetry."""
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    """By the database's clock, which the end of the undo time is compared with."""
    undone_at = models.DateTimeField(null=True)
    locked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["screening"], condition=Q(undone_at=None), name="one_standing_vote")
        ]

    def __str__(self) -> str:
        return f"{self.request.title}: best {self.best}, worst {self.worst or 'none'}"


class GoldPair(models.Model):
    """Two segments of past sessions; an experimenter says which is better. No reward model learns from it."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="gold_pairs")
    better = models.ForeignKey(Segment, on_delete=models.PROTECT, related_name="+")
    worse = models.ForeignKey(Segment, on_delete=models.PROTECT, related_name="+")

    def __str__(self) -> str:
        return f"better {self.better}, worse {self.worse}"

    @property
    def shown(self) -> tuple[Segment, Segment]:
        return self.better, self.worse

    def clean(self) -> None:
        if self.better_id == self.worse_id:
            raise ValidationError("Better and worse must be two different segments.")


class PairScreening(models.Model):
    """A pair of segments as one participant sees it, and what they answered: a pair of a training or a gold pair."""

    pair = models.ForeignKey(SegmentPair, null=True, on_delete=models.CASCADE, related_name="screenings")
    """Null: a gold pair."""
    gold = models.ForeignKey(GoldPair, null=True, on_delete=models.SET_NULL, related_name="screenings")
    """The first of its two is the better one. Null: no gold pair, or one that is gone."""
    mixed_into = models.ForeignKey(PairSession, null=True, on_delete=models.CASCADE, related_name="gold_screenings")
    """The session among whose pairs a gold pair was shown."""
    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="pair_screenings")
    token = models.CharField(max_length=64, unique=True, default=new_token)
    swapped = models.BooleanField()
    """Whether the second segment is on the left; drawn at random."""
    copy = models.PositiveSmallIntegerField()
    """Which of the answers that the pair needs this one is, from 0."""
    answer = models.CharField(max_length=6, blank=True)
    """One of llm.records.ANSWERS; empty: not answered yet, or taken back."""
    sequence = models.BigIntegerField(default=0)
    """Rises with every change that the browser sends, so that a late or repeated one changes nothing."""
    changes = models.PositiveSmallIntegerField(default=0)
    """How often an answer was taken back."""
    seconds = models.FloatField(null=True)
    """From when the pair was on the screen until it was answered, by the browser."""
    offered_at = models.DateTimeField(db_default=Now())
    """When the page last asked for it; later, somebody else may get it."""
    answered_at = models.DateTimeField(null=True)
    released_at = models.DateTimeField(null=True)
    """When it was given to somebody else, or its person left."""

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["pair", "participant"], name="one_pair_screening_per_viewer"),
            models.UniqueConstraint(
                fields=["pair", "copy"], condition=Q(released_at=None), name="one_viewer_per_answer_of_a_pair"
            ),
            models.UniqueConstraint(fields=["gold", "participant"], name="one_gold_pair_per_viewer"),
            models.CheckConstraint(
                condition=Q(pair__isnull=True) ^ Q(mixed_into__isnull=True), name="pair_of_a_training_or_gold"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pair or 'gold pair'}, as {self.participant} sees it"

    @property
    def sides(self) -> tuple[Segment, Segment]:
        """Left and right. The pair, or the gold pair, is there."""
        shown = (self.pair.first, self.pair.second) if self.pair else self.gold.shown  # type: ignore[union-attr]
        return (shown[1], shown[0]) if self.swapped else shown

    @property
    def pressed(self) -> str:
        """The answer as the page showed it: A, B, equal or skip."""
        letters = ("B", "A") if self.swapped else ("A", "B")
        return {"first": letters[0], "second": letters[1]}.get(self.answer, self.answer)


class TrialPlan(models.Model):
    """How many extra sets each participant of a study judges while the robots practise, to check the answers."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="trial_plan")
    attention = models.PositiveSmallIntegerField(
        default=0, help_text="Sets in which the page says what to pick. One or two show who does not read."
    )
    gold = models.PositiveSmallIntegerField(
        default=0, help_text="Pairs or rounds whose best and worst you know: add them as gold sets."
    )
    repeated = models.PositiveSmallIntegerField(
        default=0, help_text="Earlier rounds shown again in a new order. Two or more tell how consistent a person is."
    )
    gold_pairs = models.PositiveSmallIntegerField(
        default=0,
        db_default=0,
        help_text="Where people answer pairs: how many of each person's have an answer that you know. Add them below.",
    )

    def __str__(self) -> str:
        return f"Trials of {self.study}: {self.attention} attention, {self.gold} gold, {self.repeated} repeated"


class GoldSet(models.Model):
    """Two videos or answers of past rounds; an experimenter says which is best and which is worst."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="gold_sets")
    best = models.ForeignKey(Candidate, on_delete=models.PROTECT, related_name="+")
    worst = models.ForeignKey(Candidate, on_delete=models.PROTECT, related_name="+")
    whole_round = models.BooleanField(
        default=False, help_text="Show the whole round, not only these two. Harder, and easier to dispute."
    )

    def __str__(self) -> str:
        return f"best {self.best}, worst {self.worst}{', in their round' if self.whole_round else ''}"

    def clean(self) -> None:
        if self.best_id == self.worst_id:
            raise ValidationError("Best and worst must be two different candidates.")
        if self.whole_round and self.best.iteration_id != self.worst.iteration_id:
            raise ValidationError("A whole round can be shown only when both come from the same one.")


class Trial(models.Model):
    """An extra screening: judged while the robots practise, checked, and never given to the loop."""

    class Kind(models.TextChoices):
        ATTENTION = "attention", "Attention: the page says what to pick"
        GOLD = "gold", "Gold: best and worst are known"
        REPEATED = "repeated", "Repeated: an earlier round again"

    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="trials")
    kind = models.CharField(max_length=9, choices=Kind)
    number = models.PositiveSmallIntegerField()
    """Its place in the participant's plan."""
    round = models.PositiveSmallIntegerField()
    """The round whose robots practised at that time."""
    repeats = models.ForeignKey(Screening, null=True, on_delete=models.CASCADE, related_name="repetitions")
    token = models.CharField(max_length=64, unique=True, default=new_token)
    seed = models.PositiveBigIntegerField()
    order = models.JSONField()
    """Candidate primary keys in the order shown; the first is letter A."""
    expected_best = models.ForeignKey(Candidate, null=True, on_delete=models.SET_NULL, related_name="+")
    expected_worst = models.ForeignKey(Candidate, null=True, on_delete=models.SET_NULL, related_name="+")
    best = models.ForeignKey(Candidate, null=True, on_delete=models.SET_NULL, related_name="+")
    worst = models.ForeignKey(Candidate, null=True, on_delete=models.SET_NULL, related_name="+")
    cannot_tell = models.BooleanField(default=False)
    broken = models.BooleanField(default=False)
    client = models.JSONField(default=dict)
    opened_at = models.DateTimeField(db_default=Now(), editable=False)
    answered_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["participant", "number"], name="one_trial_per_number")]

    watch_seconds = WATCH_SECONDS

    @property
    def asks_worst(self) -> bool:
        return len(self.order) > 2

    def __str__(self) -> str:
        return f"{self.get_kind_display().partition(':')[0]} trial of {self.participant}"


class Viewing(models.Model):
    """How one opened page was watched, as the browser reports it; the times of the row are the server's."""

    screening = models.ForeignKey(Screening, null=True, on_delete=models.CASCADE, related_name="viewings")
    trial = models.ForeignKey(Trial, null=True, on_delete=models.CASCADE, related_name="viewings")
    sitting = models.CharField(max_length=16)
    """A random id that the page draws each time it is opened."""
    data = models.JSONField(default=dict)
    """See webapp.review.telemetry."""
    started_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(screening__isnull=True) ^ Q(trial__isnull=True), name="viewing_of_one_thing"
            ),
            models.UniqueConstraint(fields=["screening", "sitting"], name="one_viewing_per_sitting"),
            models.UniqueConstraint(fields=["trial", "sitting"], name="one_trial_viewing_per_sitting"),
        ]

    def __str__(self) -> str:
        return f"{self.screening or self.trial}, sitting {self.sitting}"
