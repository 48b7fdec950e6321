"""Methods over a set of problems: how often each ends with a right answer, and tests between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webapp.base.statistics.corrections import holm
from webapp.base.statistics.proportions import Interval, binomial_test, wilson
from webapp.comparisons.arms import Arm
from webapp.comparisons.experiment_results import Score
from webapp.comparisons.plan import Plan
from webapp.problems.media import get_medium


@dataclass(frozen=True)
class SignTest:
    """An arm against the first, on the same problem with the same seed, without pairs of equal scores."""

    wins: int
    losses: int
    p: float
    """The p of the two-sided exact sign test."""
    corrected: float
    """p with Holm's correction for all arms."""


@dataclass(frozen=True)
class Accuracy:
    """An arm over all problems of the comparison; every experiment has the same weight."""

    arm: Arm
    scores: Mapping[tuple[str, int], float]
    """By problem and repetition, of finished experiments."""
    better: SignTest | None = None
    """None for the first arm, and before a problem has finished experiments of both."""

    @property
    def mean(self) -> float | None:
        """The share of right answers; where programs earn points, the mean share of points."""
        return sum(self.scores.values()) / len(self.scores) if self.scores else None

    @property
    def right(self) -> int:
        return sum(score >= 1 for score in self.scores.values())

    @property
    def interval(self) -> Interval | None:
        """The 95% interval of the share of right answers (Wilson, 1927), as if all experiments were independent."""
        return wilson(self.right, len(self.scores)) if self.scores else None


def measure_accuracies(plan: Plan, scores: Sequence[Score]) -> list[Accuracy]:
    """The accuracy of every arm, in the plan's order; empty where the plan has fewer than two problems."""
    problems = [task for task in plan.tasks if get_medium(task).accuracy]
    if len(problems) < 2:
        return []
    found = {arm: _collect_scores(arm, problems, scores) for arm in plan.arms}
    first = found[plan.baseline]
    sides = {
        arm: _count_wins(own, first) for arm, own in found.items() if arm != plan.baseline and own.keys() & first.keys()
    }
    values = [binomial_test(wins, wins + losses) for wins, losses in sides.values()]
    tested = {
        arm: SignTest(wins, losses, p, corrected)
        for (arm, (wins, losses)), p, corrected in zip(sides.items(), values, holm(values), strict=True)
    }
    return [Accuracy(arm, own, tested.get(arm)) for arm, own in found.items()]


def _collect_scores(arm: Arm, problems: Sequence[str], scores: Sequence[Score]) -> dict[tuple[str, int], float]:
    own = [result for score in scores if score.arm == arm and score.task in problems for result in score.results]
    return {(result.task, result.index): result.ts for result in own if result.ts is not None}


def _count_wins(own: Mapping[tuple[str, int], float], first: Mapping[tuple[str, int], float]) -> tuple[int, int]:
    """On how many problems and seeds the arm scored higher than the first, and on how many lower."""
    both = own.keys() & first.keys()
    return sum(own[place] > first[place] for place in both), sum(own[place] < first[place] for place in both)
