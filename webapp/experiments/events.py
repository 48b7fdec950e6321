"""The outbox: events for browsers and for the log."""

from __future__ import annotations

from typing import Any

from webapp.experiments.models import Event, Experiment


def emit(
    experiment: Experiment, kind: str, text: str = "", payload: dict[str, Any] | None = None, public: bool = False
) -> Event:
    """Append an event in the caller's transaction; browsers get it after the commit."""
    return Event.objects.create(experiment=experiment, kind=kind, text=text, payload=payload or {}, public=public)


def get_last_id(experiment: Experiment) -> int:
    """The id of the newest event: a page rendered now opens its websocket with `?after=<id>`."""
    newest = Event.objects.filter(experiment=experiment).order_by("-id").values_list("id", flat=True).first()
    return newest or 0
