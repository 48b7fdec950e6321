"""What a number of people can show: the smallest difference between two arms that a study finds in eight of ten cases.

Nothing is measured before a study begins, so differences are in standard deviations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb

from webapp.base.statistics.aggregates import detectable_difference, detectable_gap
from webapp.studies.models import Study

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
    """People who give one result together: 1, or the largest panel."""

    @cached_property
    def pairs(self) -> int:
        return comb(self.arms, 2)

    def find_least(self, count: int) -> float | None:
        """The smallest difference that this many results, in each arm or of pairs, can show; None if there is none."""
        alpha = ALPHA / self.pairs  # the first step of Holm's correction
        return detectable_difference(1.0, count, alpha) if self.within else detectable_gap(count, count, alpha)

    @property
    def fewest(self) -> int:
        """The fewest results with which a difference can be shown at all."""
        return next(count for count in range(2, 64) if self.find_least(count) is not None)

    def name_results(self, count: int) -> str:
        """This many people or panels, and what they judge."""
        one, many = ("person", "people") if self.panel == 1 else ("panel", "panels")
        if self.within:
            return f"{count} {one} who judges every arm" if count == 1 else f"{count} {many} who each judge every arm"
        return f"{count} {one if count == 1 else many} in each arm"


def describe_sample_size(study: Study) -> str:
    """In one sentence; empty where a study compares nothing."""
    panels = list(study.arms.values_list("panel", flat=True))
    if len(panels) < 2:
        return ""
    design = Design(len(panels), study.experiments_each >= len(panels), max(panels))
    if study.quota is None:
        counts = [count for count in EXAMPLES if design.find_least(count) is not None]
    else:
        places = study.quota if design.within else study.quota * study.experiments_each // design.arms
        counts = [places // design.panel]
        if design.find_least(counts[0]) is None:
            results = design.name_results(counts[0])
            return f"{results} can show nothing, however different the arms are: {design.fewest} are the fewest."
    return _describe(design, counts)


def _describe(design: Design, counts: list[int]) -> str:
    first, *others = [(count, f"{design.find_least(count):.2g}") for count in counts]
    spread = "of each person's differences" if design.within else "within an arm"
    corrected = f", corrected for {design.pairs} pairs of arms" if design.pairs > 1 else ""
    more = "".join(f", {count} one of {size}" for count, size in others)
    return (
        f"{design.name_results(first[0])} can show a difference of {first[1]} standard deviations {spread}{more}, "
        f"in eight of ten cases{corrected}; 0.8 is called large."
    )
