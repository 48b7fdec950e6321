"""How far the people of each arm are, as bars beside each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from webapp.bench.studies.overview import Place

STAGES = {
    "finished": ("finished",),
    "taking part": ("chosen", "choosing", "practising", "reading", "between", "paused"),
    "stopped by a failure": ("failed",),
    "not opened yet": ("invited",),
    "out": ("out",),
}
"""What the page calls each stage, with the kinds of places that belong to it, in the order of the bar."""


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
    """One row for each arm that has people, and one for those who are in none yet."""
    members: dict[str, list[Place]] = {}
    for place in sorted(places, key=lambda one: one.assignment.arm.name if one.assignment else "~"):
        members.setdefault(place.assignment.arm.name if place.assignment else "no arm yet", []).append(place)
    longest = max((_find_length(own) for own in members.values()), default=1)
    return [
        ArmProgress(name, len(own), _find_quota(own), tuple(_cut_segments(own, longest)))
        for name, own in members.items()
    ]


def _find_quota(places: Sequence[Place]) -> int | None:
    return places[0].assignment.arm.quota if places[0].assignment else None


def _find_length(places: Sequence[Place]) -> int:
    return max(len(places), _find_quota(places) or 0)


def _cut_segments(places: Sequence[Place], longest: int) -> list[Segment]:
    kinds = Counter(place.kind for place in places)
    segments, start = [], 0
    for number, (stage, own) in enumerate(STAGES.items(), 1):
        if people := sum(kinds[kind] for kind in own):
            segments.append(Segment(stage, number, people, 100 * start / longest, 100 * people / longest))
            start += people
    return segments
