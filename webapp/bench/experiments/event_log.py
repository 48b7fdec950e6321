"""The log of an experiment's events."""

from __future__ import annotations

from django.db.models import Q

from webapp.experiments.models import Event, Experiment

SILENT_KINDS = ("locked", "stopped", "undone")
"""Events that only make a participant's page look again; another event says the same in words."""
MOST_EVENTS = 200


def list_events(experiment: Experiment, text: str = "", kind: str = "") -> list[Event]:
    """The newest events with this text and of this kind, newest first."""
    events = experiment.events.exclude(kind__in=SILENT_KINDS)
    if text:
        events = events.filter(Q(text__icontains=text) | Q(kind__icontains=text))
    if kind:
        events = events.filter(kind=kind)
    return list(events.order_by("-id")[:MOST_EVENTS])


def list_event_kinds(experiment: Experiment) -> list[str]:
    events = experiment.events.exclude(kind__in=SILENT_KINDS)
    return list(events.order_by("kind").values_list("kind", flat=True).distinct())
