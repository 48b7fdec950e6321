"""Methods over a set of problems: how often each ends with a right answer, and whether it does so more often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, sqrt

from webapp.comparisons.experiment_results import Score
from webapp.comparisons.plan import Arm, Plan
from webapp.comparisons.ranks import holm
from webapp.problems.lookup import is_problem

Z = 1.959964
"""97.5% of the normal distribution."""


@dataclass(frozen=True)
class Better:
    """Against the first arm, on the same problem with the same seed. Pairs with equal scores say nothing."""

    wins: int
    losses: int
    p: float
    """Two-sided exact sign test of these."""
    corrected: float
    """By Holm, for all arms."""


@dataclass(frozen=True)
class Accuracy:
    """An arm over all problems of the comparison, each of its experiments counting alike."""

    arm: Arm
    scores: Mapping[tuple[str, int], float]
    """By problem and repetition, of finished experiments."""
    better: Better | None = None
    """None for the first arm, and before there are experiments to set beside each other."""

    @property
    def mean(self) -> float | None:
        """Share of right answers; where programs earn points, the mean share of them."""
        return sum(self.scores.values()) / len(self.scores) if self.scores else None

    @property
    def right(self) -> int:
        return sum(score >= 1 for score in self.scores.values())

    @property
    def interval(self) -> tuple[float, float] | None:
        """Of the share that is right, at 95% (Wilson, 1927), all experiments taken as independent."""
        return wilson(self.right, len(self.scores)) if self.scores else None


def accuracies(plan: Plan, scores: Sequence[Score]) -> list[Accuracy]:
    """Of every arm, in the plan's order; empty where the plan has fewer than two problems."""
    problems = [task for task in plan.tasks if is_problem(task)]
    if len(problems) < 2:
        return []
    found = {arm: _by_place(arm, problems, scores) for arm in plan.arms}
    first = found[plan.baseline]
    sides = {
        arm: _sides(own, first) for arm, own in found.items() if arm != plan.baseline and own.keys() & first.keys()
    }
    values = [sign_test(*side) for side in sides.values()]
    tested = {
        arm: Better(wins, losses, p, corrected)
        for (arm, (wins, losses)), p, corrected in zip(sides.items(), values, holm(values), strict=True)
    }
    return [Accuracy(arm, own, tested.get(arm)) for arm, own in found.items()]


def _by_place(arm: Arm, problems: Sequence[str], scores: Sequence[Score]) -> dict[tuple[str, int], float]:
    own = [result for score in scores if score.arm == arm and score.task in problems for result in score.results]
    return {(result.task, result.index): result.ts for result in own if result.ts is not None}


def _sides(own: Mapping[tuple[str, int], float], first: Mapping[tuple[str, int], float]) -> tuple[int, int]:
    """Where it did better than the first, and where worse."""
    both = own.keys() & first.keys()
    return sum(own[place] > first[place] for place in both), sum(own[place] < first[place] for place in both)


def sign_test(wins: int, losses: int) -> float:
    """Two-sided exact p of so many wins where each way is equally probable; 1 without any.

    p = min(1, 2 P(K <= min(wins, losses))), K binomial with n = wins + losses and 1/2.
    """
    n = wins + losses
    return min(1.0, 2 * sum(comb(n, k) for k in range(min(wins, losses) + 1)) / (1 << n))


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The score interval of a proportion at 95%: (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)."""
    p, z2n = successes / trials, Z**2 / trials
    half = Z * sqrt(p * (1 - p) / trials + z2n / (4 * trials))
    return max(0.0, (p + z2n / 2 - half) / (1 + z2n)), min(1.0, (p + z2n / 2 + half) / (1 + z2n))
