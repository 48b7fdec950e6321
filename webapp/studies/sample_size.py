"""What a number of people can show: the smallest difference between two arms that a study finds in eight of ten cases.

Nothing is measured before a study begins, so differences are in standard deviations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb

from webapp.base.statistics.aggregates import compute_detectable_gap, compute_detectable_shift
from webapp.studies.models import Arm, Study

ALPHA = 0.05
EXAMPLES = (10, 20, 40)
"""Numbers of people that are named where a study has no limit."""


@dataclass(frozen=True)
class Design:
    """How a study's arms are compared."""

    arms: int
    within: bool
    """Whether everybody judges every arm, so that differences are taken within each person."""
    panel: int
    """How many people give one result together."""

    @cached_property
    def pairs(self) -> int:
        return comb(self.arms, 2)

    def find_least(self, count: int) -> float:
        """The smallest difference that this many results, in each arm or of pairs, can show; two at least."""
        alpha = ALPHA / self.pairs  # the first step of Holm's correction
        return compute_detectable_shift(count, alpha) if self.within else compute_detectable_gap(count, alpha)

    def name_results(self, count: int) -> str:
        """This many people or panels, and what they judge."""
        one, many = ("person", "people") if self.panel == 1 else ("panel", "panels")
        named = f"{count} {one if count == 1 else many}"
        if self.within:
            return f"{named} who {'judges' if count == 1 else 'each judge'} every arm"
        return f"{named} in each arm"


def describe_sample_size(study: Study) -> str:
    """In a few sentences; empty where a study compares nothing, or where its results are not all of one kind: places
    that are given by hand, people who judge some of the arms, arms with different limits or panels.
    """
    arms = list(study.arms.all())
    design = _find_design(study, arms)
    if design is None:
        return ""
    limits = {_find_limit(study, arm, design) for arm in arms}
    if design.within:
        limits = {min((limit for limit in limits if limit is not None), default=None)}
    if len(limits) > 1:
        return ""
    limit = limits.pop()
    if limit is None:
        return f"No limit is set. {_describe(design, EXAMPLES)}"
    if limit < 2:
        return f"{design.name_results(limit)} can show nothing, however different the arms are: a test needs two."
    return _describe(design, [limit])


def _find_design(study: Study, arms: Sequence[Arm]) -> Design | None:
    panels = {arm.panel for arm in arms}
    if len(arms) < 2 or len(panels) > 1 or study.assignment == Study.Assigning.BY_HAND:
        return None
    design = Design(len(arms), study.experiments_each >= len(arms), panels.pop())
    if design.within:
        return design if design.panel == 1 else None  # the panels of two arms may be made of different people
    return design if study.experiments_each == 1 else None


def _find_limit(study: Study, arm: Arm, design: Design) -> int | None:
    """The most results that the arm can have; None without a limit."""
    share = None if study.quota is None else study.quota if design.within else study.quota // design.arms
    limits = [limit for limit in (share, arm.quota) if limit is not None]
    return min(limits) // design.panel if limits else None


def _describe(design: Design, counts: Sequence[int]) -> str:
    first, *others = [(count, f"{design.find_least(count):.2g}") for count in counts]
    more = "".join(f"; with {count}, {size}" for count, size in others)
    corrected = f", corrected for {design.pairs} pairs of arms" if design.pairs > 1 else ""
    spread = "the differences within a person vary" if design.within else "the results within one arm differ"
    return (
        f"With {design.name_results(first[0])} the study finds, in eight of ten cases{corrected}, a difference of "
        f"{first[1]} standard deviations or more{more}. (0.8 counts as large.) The standard deviation says how much "
        f"{spread}."
    )
