"""Pairs of segments that people compare while a policy trains, session by session."""

from __future__ import annotations

from django.db import models

from webapp.experiments.models.requests import Film, Request


class PairSession(models.Model):
    """A point in a training at which it stops until people have answered its pairs. Where a simulated teacher answers
    it goes on at once: the session begins as answered, is never opened, and has a few of its pairs.
    """

    class Status(models.TextChoices):
        FILMING = "filming", "Being filmed"
        OPEN = "open", "People answer"
        ANSWERED = "answered", "Answered"

    request = models.ForeignKey(Request, on_delete=models.CASCADE, related_name="pair_sessions")
    number = models.PositiveSmallIntegerField()
    """The session's number, counted from 1 as in the trainer's files."""
    status = models.CharField(max_length=8, choices=Status, default=Status.FILMING)
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True)
    answered_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["request", "number"]
        constraints = [models.UniqueConstraint(fields=["request", "number"], name="one_session_per_number")]

    def __str__(self) -> str:
        return f"{self.request.title}, session {self.number}"


class Segment(Film):
    """Some seconds of a policy in training, as a film."""

    session = models.ForeignKey(PairSession, on_delete=models.CASCADE, related_name="segments")
    number = models.PositiveSmallIntegerField()
    """The segment's number, counted from 0 as in the trainer's files."""

    class Meta:
        ordering = ["session", "number"]
        constraints = [models.UniqueConstraint(fields=["session", "number"], name="one_segment_per_number")]

    def __str__(self) -> str:
        return f"{self.session}, segment {self.number}"


class SegmentPair(models.Model):
    """Two segments of which people say which is better."""

    session = models.ForeignKey(PairSession, on_delete=models.CASCADE, related_name="pairs")
    number = models.PositiveSmallIntegerField()
    """Its place in the session, from 0."""
    first = models.ForeignKey(Segment, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(Segment, on_delete=models.CASCADE, related_name="+")
    answer = models.CharField(max_length=6, blank=True)
    """What the policy learns from it, one of llm.records.ANSWERS; empty until the session is answered."""

    class Meta:
        ordering = ["session", "number"]
        constraints = [models.UniqueConstraint(fields=["session", "number"], name="one_pair_per_number")]

    def __str__(self) -> str:
        return f"{self.session}, pair {self.number + 1}"
