"""Teachers that err as people do, after B-Pref (Lee et al. 2021, section 3.2).

Utilities are in units of the mean size of the experiment's scores so far, as B-Pref's thresholds are in units of the
average return so far, so that one setting means the same on every task. B-Pref's teachers compare two; best of several
and worst of the rest are its natural extension, the Plackett-Luce choice.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from llm.method import Option
from llm.records import Outcome

OPTIONS = (
    Option("beta", -1.0, "Rationality: the higher, the rarer a wrong choice; 0 chooses blindly, -1 never errs."),
    Option("gamma", 1.0, "Myopia: below 1, late moments of the training count more than early ones.", low=0.01, high=1),
    Option("mistake", 0.0, "Probability that an answer is turned round.", low=0, high=1),
    Option("skip", 0.0, "Of two compared that are both worse than this share of the mean, none is preferred.", low=0),
    Option("equal", 0.0, "Differences below this share of the mean are not seen.", low=0),
)


@dataclass(frozen=True)
class Teacher:
    """How a teacher errs; the defaults never do."""

    beta: float = -1.0
    gamma: float = 1.0
    mistake: float = 0.0
    skip: float = 0.0
    equal: float = 0.0

    def errs(self, rng: random.Random) -> bool:
        """Whether this answer is reversed; draws from `rng` only where answers can be reversed."""
        return self.mistake > 0 and rng.random() < self.mistake


def utilities(outcomes: Sequence[Outcome], teacher: Teacher, unit: float | None = None) -> list[float]:
    """The utility of each to this teacher, in units of |`unit`|: the mean |RTS| of all that the experiment has trained.

    Without it, or where it is 0, the mean size of those shown: a poor pair then looks as good as any other.
    The score (RTS); for a myopic teacher sum_t gamma^(T-t) m_t / sum_t gamma^(T-t) over the samples m_1..m_T of the
    metric during training (B-Pref, equation 4).
    """
    values = [_discounted(o, teacher.gamma) if teacher.gamma < 1 else float(o.rts or 0.0) for o in outcomes]
    size = abs(unit or sum(abs(v) for v in values) / len(values) or 1.0)
    return [v / size for v in values]


def _discounted(outcome: Outcome, gamma: float) -> float:
    samples = [float(m) for m in outcome.metric_trace.get("samples", ()) if m is not None]
    if not samples:
        return float(outcome.rts or 0.0)
    weights = [gamma ** (len(samples) - 1 - t) for t in range(len(samples))]
    return sum(w * m for w, m in zip(weights, samples, strict=True)) / sum(weights)


def prefers_first(first: float, second: float, beta: float) -> float:
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
    won = rng.random() < prefers_first(first, second, teacher.beta)
    return "first" if won != teacher.errs(rng) else "second"


def best_of(values: Sequence[float], teacher: Teacher, rng: random.Random) -> int:
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
