"""How far the people of each arm are, as bars beside each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from webapp.bench.studies.overview import Place
from webapp.experiments.models import Experiment
from webapp.studies.models import Assignment

NOWHERE = "no arm yet"
STAGES = {
    "finished": ("finished",),
    "taking part": ("chosen", "choosing", "practising", "reading", "between", "paused"),
    "stopped by a failure": ("failed",),
    "not opened yet": ("invited",),
    "not begun yet": ("later",),
    "out": ("out",),
}
"""What the page calls each stage, with the kinds that belong to it, in the order of the bar: those of
webapp.bench.studies.overview.KIND_LABELS, and "later" for an experiment that comes after the present one.
"""


@dataclass(frozen=True)
class Segment:
    stage: str
    number: int
    """The place of its stage in STAGES, from 1, by which it is coloured."""
    people: int
    start: float
    width: float
    """Both in percent of the longest bar."""


@dataclass(frozen=True)
class ArmProgress:
    name: str
    people: int
    quota: int | None
    segments: tuple[Segment, ...]


def build_arm_progress(places: Sequence[Place]) -> list[ArmProgress]:
    """One row for each arm that has people, and one for those who are in none yet. Who is in several counts in each."""
    kinds: dict[str, list[str]] = {}
    quotas: dict[str, int | None] = {}
    for place in places:
        for name, quota, kind in _list_kinds(place):
            kinds.setdefault(name, []).append(kind)
            quotas[name] = quota
    longest = max((max(len(own), quotas[name] or 0) for name, own in kinds.items()), default=1)
    order = sorted(kinds, key=lambda name: (name == NOWHERE, name))
    return [
        ArmProgress(name, len(kinds[name]), quotas[name], tuple(_cut_segments(kinds[name], longest))) for name in order
    ]


def _list_kinds(place: Place) -> list[tuple[str, int | None, str]]:
    """(arm, its quota, where the person is in it) of each arm of a person."""
    found = [(row.arm.name, row.arm.quota, _find_kind(place, row)) for row in place.participant.assignments.all()]
    return found or [(NOWHERE, None, place.kind)]


def _find_kind(place: Place, row: Assignment) -> str:
    if row.experiment and row.experiment.status == Experiment.Status.FINISHED:
        return "finished"
    if place.kind in ("out", "finished") or row == place.assignment:
        return place.kind
    return "later"


def _cut_segments(kinds: Sequence[str], longest: int) -> list[Segment]:
    count = Counter(kinds)
    segments, start = [], 0
    for number, (stage, own) in enumerate(STAGES.items(), 1):
        if people := sum(count[kind] for kind in own):
            segments.append(Segment(stage, number, people, 100 * start / longest, 100 * people / longest))
            start += people
    return segments
