"""Teachers that err as people do, after B-Pref (Lee et al. 2021, section 3.2): one implementation for judges and for
reward models that learn from pairs. Imports nothing but Python.

B-Pref's teachers compare two; best of several and worst of the rest are its natural extension, the Plackett-Luce
choice.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Teacher:
    """How a teacher errs; the defaults never do."""

    beta: float = -1.0
    """Rationality; below 0: never a wrong choice."""
    gamma: float = 1.0
    """Myopia: below 1, late moments count more than early ones."""
    mistake: float = 0.0
    """Probability that an answer is turned round."""
    skip: float = 0.0
    """Threshold, in the unit of the utilities: of two that are both below it, none is preferred."""
    equal: float = 0.0
    """Threshold, in the same unit: smaller differences are not seen."""

    def errs(self, rng: random.Random) -> bool:
        """Whether this answer is reversed; draws from `rng` only where answers can be reversed."""
        return self.mistake > 0 and rng.random() < self.mistake


def compute_preference(first: float, second: float, beta: float) -> float:
    """P(first > second) = 1 / (1 + exp(-beta (u1 - u2))); beta below 0 stands for infinity."""
    if beta < 0:
        return float(first >= second)
    return 1.0 / (1.0 + math.exp(-max(-700.0, min(700.0, beta * (first - second)))))


def compare(
    first: float,
    second: float,
    teacher: Teacher,
    rng: random.Random,
    plain: tuple[float, float] | None = None,
    sign: float = 1.0,
) -> str:
    """first, second, equal or skip. Without noise, `equal` only for exactly equal utilities.

    `plain`: the utilities without myopia, which the thresholds are for (B-Pref, section 3.2: they bound plain sums).
    `sign`: that of the mean of which `skip` is a share.
    """
    seen = plain or (first, second)
    if teacher.skip and max(seen) < math.copysign(teacher.skip, sign):
        return "skip"
    if abs(seen[0] - seen[1]) < teacher.equal or first == second:
        return "equal"
    won = rng.random() < compute_preference(first, second, teacher.beta)
    return "first" if won != teacher.errs(rng) else "second"


def choose_best(values: Sequence[float], teacher: Teacher, rng: random.Random) -> int:
    """The index chosen: with probability exp(beta u_i) / sum_j exp(beta u_j); beta below 0: the highest, first of ties.

    Those within `equal` of the highest look the same to the teacher, who then takes any of them.
    """
    highest = max(values)
    chosen = list(values).index(highest)
    if teacher.beta >= 0:
        powers = [math.exp(max(-700.0, teacher.beta * (v - highest))) for v in values]
        (chosen,) = rng.choices(range(len(values)), powers)
    alike = [i for i, v in enumerate(values) if highest - v < teacher.equal]
    return rng.choice(alike) if chosen in alike else chosen
