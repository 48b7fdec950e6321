"""The log of an experiment's events."""

from __future__ import annotations

from django.db.models import Q

from webapp.experiments.models import Event, Experiment

SILENT_KINDS = ("locked", "stopped", "undone")
"""Events that only make a participant's page look again; another event says the same in words."""
MOST_EVENTS = 200
KIND_NAMES = {
    "clip": "filmed",
    "clip failed": "filming failed",
    "context": "context window",
    "judge": "asked to judge",
    "pairs": "filming pairs",
    "uncounted": "tokens estimated",
    "unseen": "clips not seen",
}
"""What pages call a kind of event whose stored name is not a word for people."""


def name_kind(kind: str) -> str:
    return KIND_NAMES.get(kind, kind)


def list_events(experiment: Experiment, text: str = "", kind: str = "") -> list[Event]:
    """The newest events with this text and of this kind, newest first."""
    events = experiment.events.exclude(kind__in=SILENT_KINDS)
    if text:
        named = [kind for kind, name in KIND_NAMES.items() if text.lower() in name]
        events = events.filter(Q(text__icontains=text) | Q(kind__icontains=text) | Q(kind__in=named))
    if kind:
        events = events.filter(kind=kind)
    return list(events.order_by("-id")[:MOST_EVENTS])


def list_event_kinds(experiment: Experiment) -> list[str]:
    events = experiment.events.exclude(kind__in=SILENT_KINDS)
    return sorted(events.order_by().values_list("kind", flat=True).distinct(), key=name_kind)
