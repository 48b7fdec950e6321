"""What a person was shown, and what they picked."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from webapp.experiments.models import Candidate, Clip, Request
from webapp.studies.models import Participant, new_token


class Screening(models.Model):
    """A Judge or Choose request as one participant sees it: the realised order, with its seed."""

    request = models.ForeignKey(Request, on_delete=models.CASCADE, related_name="screenings")
    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="screenings")
    token = models.CharField(max_length=64, unique=True, default=new_token)
    seed = models.PositiveBigIntegerField()
    order = models.JSONField()
    """Candidate primary keys in the order shown; the first is letter A."""
    opened_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["request", "participant"], name="one_screening_per_viewer")]

    def __str__(self) -> str:
        return f"{self.request.title}, as {self.participant} sees it"


class ClipTicket(models.Model):
    """An address of a clip for one viewer: opaque, and different for everybody."""

    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="tickets")
    clip = models.ForeignKey(Clip, on_delete=models.CASCADE, related_name="tickets")
    token = models.CharField(max_length=64, unique=True, default=new_token)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["participant", "clip"], name="one_ticket_per_clip")]

    def __str__(self) -> str:
        return f"{self.clip}, for {self.participant}"


class Vote(models.Model):
    """A confirmed choice. Written before the page says thank you; undone until it is locked, never deleted."""

    request = models.ForeignKey(Request, on_delete=models.CASCADE, related_name="votes")
    screening = models.ForeignKey(Screening, on_delete=models.CASCADE, related_name="votes")
    best = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="+")
    worst = models.ForeignKey(Candidate, null=True, on_delete=models.CASCADE, related_name="+")
    cannot_tell = models.BooleanField(default=False)
    """The person could not tell the clips apart; best and worst were then drawn from the screening's seed."""
    reason = models.TextField(blank=True, max_length=2000)
    tags = models.JSONField(default=list)
    client = models.JSONField(default=dict)
    """What the browser measured: milliseconds to decide, plays, focus lost."""
    created_at = models.DateTimeField(auto_now_add=True)
    undone_at = models.DateTimeField(null=True)
    locked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["request"], condition=Q(undone_at=None), name="one_standing_vote")
        ]

    def __str__(self) -> str:
        return f"{self.request.title}: best {self.best}, worst {self.worst or 'none'}"
