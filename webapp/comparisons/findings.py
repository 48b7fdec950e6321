"""What a comparison found about each of its contrasts, and about each method over all tasks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import mean, stdev

from webapp.base.statistics import aggregates
from webapp.base.statistics.corrections import holm
from webapp.base.statistics.proportions import Interval
from webapp.base.statistics.rank_tests import compare_by_seed
from webapp.comparisons.arms import Arm
from webapp.comparisons.contrasts import Contrast
from webapp.comparisons.experiment_results import Score
from webapp.comparisons.plan import Plan
from webapp.problems.lookup import find_task
from webapp.problems.media import get_medium

ALPHA = 0.05
NORMALISED = "in normalised score: 0 is Sparse, 1 is Human or as far below Sparse"
References = Mapping[tuple[str, str], Sequence[float]]


@dataclass(frozen=True)
class Finding:
    """A contrast over all pairs of experiments with the same task and seed."""

    contrast: Contrast
    pairs: Mapping[str, tuple[tuple[float, float], ...]]
    """By task, (first, second) in the unit of the test."""
    unread: bool = False
    """The writer reads the same from the prompts of both: they differ by chance alone."""
    floor: float | None = None
    """How large chance makes the difference, from A/A pairs; None without any."""
    corrected: float | None = None
    """p with Holm's correction for all contrasts of the plan."""

    @property
    def differences(self) -> dict[str, tuple[float, ...]]:
        return {task: tuple(a - b for a, b in pairs) for task, pairs in self.pairs.items() if pairs}

    @property
    def count(self) -> int:
        return sum(map(len, self.pairs.values()))

    @property
    def difference(self) -> float | None:
        """First minus second, mean over all pairs."""
        found = [gap for gaps in self.differences.values() for gap in gaps]
        return mean(found) if found else None

    @property
    def interval(self) -> Interval | None:
        return aggregates.bound_mean(tuple(self.differences.values()))

    @cached_property
    def p(self) -> float | None:
        """The p of the sign-flip permutation test over all pairs."""
        both = [pair for pairs in self.pairs.values() for pair in pairs]
        return compare_by_seed(*zip(*both, strict=True)).p if len(both) > 1 else None

    @property
    def improvement(self) -> float | None:
        """Probability that a run of the first is higher than one of the second."""
        return aggregates.estimate_improvement(*self._strata) if self.count else None

    @property
    def improvement_interval(self) -> Interval | None:
        return aggregates.bound_improvement(*self._strata)

    @property
    def _strata(self) -> tuple[aggregates.Strata, aggregates.Strata]:
        held = [pairs for pairs in self.pairs.values() if pairs]
        return tuple(tuple(a for a, _ in pairs) for pairs in held), tuple(tuple(b for _, b in pairs) for pairs in held)

    @property
    def below_floor(self) -> bool:
        return self.floor is not None and self.difference is not None and abs(self.difference) < self.floor

    @property
    def verdict(self) -> str:
        """What was found, in words."""
        if self.unread:
            return "cannot be shown: this writer does not read what the two prompts differ in"
        if self.difference is None:
            return "nothing yet: no pair is finished"
        if self.contrast.claim == "=":
            return self._judge_equality()
        if self.below_floor:
            return "not shown: below the noise floor"
        if self.corrected is None or self.corrected > ALPHA:
            return "not shown: chance does not exclude it"
        if self.contrast.claim == "vs":
            return "shown: they differ"
        return "shown" if self.difference > 0 else "contradicted: the other way round"

    def _judge_equality(self) -> str:
        if self.corrected is not None and self.corrected <= ALPHA and not self.below_floor:
            return "contradicted: they differ"
        if self.below_floor:
            return "not contradicted: below the noise floor"
        if self.floor is not None:
            return "not shown: the difference is above the noise floor, and chance does not exclude it"
        return "not shown: no difference was found, and no noise floor says how small it is"


@dataclass(frozen=True)
class Aggregate:
    """An arm, or a reference, over all tasks."""

    name: str
    strata: aggregates.Strata
    """By task, its scores in the unit of the test."""

    @property
    def runs(self) -> int:
        return sum(map(len, self.strata))

    @property
    def interquartile_mean(self) -> float | None:
        values = tuple(value for own in self.strata for value in own)
        return aggregates.compute_interquartile_mean(values) if values else None

    @property
    def interval(self) -> Interval | None:
        return aggregates.bound_interquartile_mean(self.strata)


@dataclass(frozen=True)
class Evidence:
    """All findings of a comparison."""

    unit: str
    """The unit of differences and aggregates."""
    tasks: tuple[str, ...]
    """The tasks that count in them."""
    left_out: tuple[str, ...]
    """Tasks that do not, because Human and Sparse score the same there."""
    findings: tuple[Finding, ...]
    aggregates: tuple[Aggregate, ...]
    noise: tuple[float, ...]
    """Differences of A/A pairs."""
    planned_pairs: int

    @property
    def is_normalised(self) -> bool:
        return self.unit == NORMALISED

    @property
    def alpha(self) -> float:
        """The level of one contrast where all of them are corrected for."""
        return ALPHA / max(1, len(self.findings))

    @property
    def deviation(self) -> float | None:
        """Of the differences of pairs: of A/A pairs where there are two, else of all contrasts."""
        if len(self.noise) > 1:
            return math.sqrt(mean(gap * gap for gap in self.noise))
        spreads = [stdev(gaps) ** 2 for one in self.findings for gaps in one.differences.values() if len(gaps) > 1]
        return math.sqrt(mean(spreads)) if spreads else None

    @property
    def power_words(self) -> str:
        return describe_power(self.planned_pairs, len(self.findings), self.deviation, self.unit)


def describe_power(pairs: int, contrasts: int, deviation: float | None, unit: str) -> str:
    """What a plan can see: the smallest difference that it finds in eight of ten cases."""
    alpha = ALPHA / max(1, contrasts)
    corrected = f", with {contrasts} contrasts corrected for" if contrasts > 1 else ""
    said = f"With {pairs} pair{'' if pairs == 1 else 's'}{corrected}"
    least = next(n for n in range(2, 64) if 2 / 2**n <= alpha)
    if pairs < least:
        return f"{said}, this plan can show no difference, however large: it takes {least} pairs at least."
    if deviation is None:
        return f"{said}: what it can show is known once two pairs are finished."
    gap = aggregates.compute_detectable_difference(deviation, pairs, alpha)
    return f"{said}: {gap:.2g} ({unit}) in eight of ten cases, as far as pairs differ by {deviation:.2g} here."


def collect_evidence(
    plan: Plan, scores: Sequence[Score], references: References, unread: Iterable[Contrast] = ()
) -> Evidence:
    """Everything that the scores of a plan say about its contrasts."""
    scales = {task: _find_scale(plan, task, references) for task in plan.tasks}
    counted = tuple(task for task, scale in scales.items() if scale is not None)
    unread = set(unread)
    found = {(score.task, score.arm): score.scores for score in scores}
    noise = tuple(gap for a, b in _list_again(plan.arms) for gap in _list_gaps(found, a, b, scales))
    findings = [_build_finding(one, found, scales, noise, one in unread) for one in plan.contrasts]
    tested = [index for index, one in enumerate(findings) if one.p is not None and not one.unread]
    # a contrast without pairs so far counts too: the correction is for what was planned
    ps = [findings[index].p or 0.0 for index in tested] + [1.0] * (len(findings) - len(tested))
    for index, p in zip(tested, holm(ps), strict=False):
        findings[index] = replace(findings[index], corrected=p)
    return Evidence(
        unit=_find_unit(plan, counted),
        tasks=counted,
        left_out=tuple(task for task in plan.tasks if task not in counted),
        findings=tuple(findings),
        aggregates=_build_aggregates(plan, found, references, scales),
        noise=noise,
        planned_pairs=len(counted or plan.tasks) * plan.experiments,
    )


Scale = tuple[float, float]
"""What is subtracted from a score, and by what it is then divided."""


def _find_scale(plan: Plan, task: str, references: References) -> Scale | None:
    """(Sparse, |Human - Sparse|) where there are several tasks, else scores are taken as they are. None where the two
    are equal or not known yet, so that a task's scores cannot be set beside those of others.
    """
    if len(plan.tasks) == 1 or not get_medium(task).filmed:
        return (0.0, 1.0)
    return find_normaliser(task, references)


def find_normaliser(task: str, references: References) -> Scale | None:
    human, sparse = (references.get((task, name)) for name in ("Human", "Sparse"))
    if not human or not sparse or math.isclose(mean(human), mean(sparse), rel_tol=1e-9):
        return None
    return mean(sparse), abs(mean(human) - mean(sparse))


def normalise(score: float | None, task: str, references: References) -> float | None:
    """(score - Sparse) / |Human - Sparse|."""
    scale = find_normaliser(task, references)
    return None if scale is None or score is None else _apply(scale, score)


def _apply(scale: Scale, score: float) -> float:
    return (score - scale[0]) / scale[1]


def _find_unit(plan: Plan, counted: Sequence[str]) -> str:
    if len(plan.tasks) == 1:
        return f"{find_task(plan.tasks[0]).metric}"
    return NORMALISED if any(get_medium(task).filmed for task in counted or plan.tasks) else "share of 1"


Found = Mapping[tuple[str, Arm], Mapping[int, float]]


def _list_pairs(
    found: Found, a: Arm, b: Arm, scales: Mapping[str, Scale | None]
) -> dict[str, tuple[tuple[float, float], ...]]:
    pairs = {}
    for task, scale in scales.items():
        ours, theirs = found.get((task, a), {}), found.get((task, b), {})
        if scale is not None:
            both = sorted(ours.keys() & theirs.keys())
            pairs[task] = tuple((_apply(scale, ours[index]), _apply(scale, theirs[index])) for index in both)
    return pairs


def _list_gaps(found: Found, a: Arm, b: Arm, scales: Mapping[str, Scale | None]) -> list[float]:
    return [x - y for pairs in _list_pairs(found, a, b, scales).values() for x, y in pairs]


def _list_again(arms: Sequence[Arm]) -> list[tuple[Arm, Arm]]:
    """Each arm with those that are the same again."""
    return [(a, b) for a in arms for b in arms if b.again and not a.again and replace(b, again=0) == a]


def _build_finding(
    contrast: Contrast, found: Found, scales: Mapping[str, Scale | None], noise: tuple[float, ...], unread: bool
) -> Finding:
    pairs = _list_pairs(found, contrast.first, contrast.second, scales)
    floor = aggregates.estimate_noise_floor(noise, sum(map(len, pairs.values())))
    return Finding(contrast, pairs, unread, floor)


def _build_aggregates(
    plan: Plan, found: Found, references: References, scales: Mapping[str, Scale | None]
) -> tuple[Aggregate, ...]:
    """Every arm, then the references, with the tasks on which they have scores."""
    rows = []
    for arm in plan.arms:
        own = [(scale, tuple(found.get((task, arm), {}).values())) for task, scale in scales.items()]
        rows.append((arm.label, own))
    for name in dict.fromkeys(name for _, name in plan.references):
        rows.append((name, [(scale, tuple(references.get((task, name), ()))) for task, scale in scales.items()]))
    return tuple(
        Aggregate(name, tuple(tuple(_apply(scale, v) for v in values) for scale, values in own if scale and values))
        for name, own in rows
    )
