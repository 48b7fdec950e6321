"""The time that an experiment was worked on: from start to end, without pauses, and without what followed a failure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from webapp.experiments.models import Event, Experiment

STATES = {
    "started": ("ended", False),
    "failed": ("ended", True),
    "retried": ("ended", False),
    "ended early": ("ended", False),
    "revised": ("ended", False),
    "cancelled": ("ended", True),
    "finished": ("ended", True),
    "paused": ("paused", True),
    "resumed": ("paused", False),
}
"""By kind of event: what it changes, and to what."""


@dataclass(frozen=True)
class WorkingTime:
    spans: tuple[tuple[datetime, datetime], ...]
    """Begin and end of each stretch of work, in order; the last one ends now while the experiment is worked on."""
    running: bool

    @property
    def seconds(self) -> float | None:
        """None if the work has not begun."""
        return self._total.total_seconds() if self.spans else None

    @property
    def counts_from(self) -> datetime | None:
        """The moment from which a clock shows the working time; None if it stands still."""
        return self.spans[-1][1] - self._total if self.running else None

    @property
    def _total(self) -> timedelta:
        return sum((end - begin for begin, end in self.spans), timedelta())

    def measure(self, begin: datetime, end: datetime) -> float:
        """The seconds of work between two moments; all of them if no work is known."""
        inside = [(max(begin, first), min(end, last)) for first, last in self.spans] or [(begin, end)]
        return sum(max(0.0, (last - first).total_seconds()) for first, last in inside)


def read_working_time(experiment: Experiment) -> WorkingTime:
    rows = experiment.events.filter(kind__in=STATES).order_by("id").values_list("kind", "created_at")
    return _add_up(experiment, list(rows))


def read_working_times(experiments: QuerySet[Experiment]) -> dict[int, WorkingTime]:
    """The working time of many experiments by primary key, in two queries."""
    events: dict[int, list[tuple[str, datetime]]] = defaultdict(list)
    rows = Event.objects.filter(experiment__in=experiments, kind__in=STATES).order_by("id")
    for pk, kind, moment in rows.values_list("experiment", "kind", "created_at"):
        events[pk].append((kind, moment))
    known = experiments.only("status", "paused", "started_at", "finished_at")
    return {row.pk: _add_up(row, events[row.pk]) for row in known}


def _add_up(experiment: Experiment, rows: Sequence[tuple[str, datetime]]) -> WorkingTime:
    spans, begun = [], experiment.started_at
    state = {"ended": False, "paused": False}
    for kind, moment in rows:
        name, value = STATES[kind]
        state[name] = value
        stands = state["ended"] or state["paused"]
        if begun and stands:
            spans.append((begun, max(begun, moment)))
            begun = None
        elif begun is None and not stands:
            begun = moment
    running = begun is not None and experiment.live and not experiment.paused
    if begun:  # it is worked on; or it came without its last events
        last = rows[-1][1] if rows else begun
        end = timezone.now() if running else experiment.finished_at or last
        spans.append((begun, max(begun, end)))
    return WorkingTime(tuple(spans), running)
