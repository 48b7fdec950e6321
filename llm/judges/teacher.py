"""What trained candidates are worth to a noisy teacher (teachers/noisy.py), and the options that make it err.

Utilities are in units of the mean size of the experiment's scores so far, as B-Pref's thresholds are in units of the
average return so far, so that one setting means the same on every task.
"""

from __future__ import annotations

from collections.abc import Sequence

from llm.method import Option
from llm.records import Outcome
from teachers.noisy import Teacher

OPTIONS = (
    Option("beta", -1.0, "Rationality: the higher, the rarer a wrong choice; 0 chooses blindly, -1 never errs."),
    Option("gamma", 1.0, "Myopia: below 1, late moments of the training count more than early ones.", low=0.01, high=1),
    Option("mistake", 0.0, "Probability that an answer is turned round.", low=0, high=1),
    Option("skip", 0.0, "Of two compared that are both worse than this share of the mean, none is preferred.", low=0),
    Option("equal", 0.0, "Differences below this share of the mean are not seen.", low=0),
)


def compute_utilities(outcomes: Sequence[Outcome], teacher: Teacher, unit: float | None = None) -> list[float]:
    """The utility of each to this teacher, in units of |`unit`|: the mean |RTS| of all that the experiment has trained.

    Without it, or where it is 0, the mean size of those shown: a poor pair then looks as good as any other.
    The score (RTS); for a myopic teacher sum_t gamma^(T-t) m_t / sum_t gamma^(T-t) over the samples m_1..m_T of the
    metric during training (B-Pref, equation 4).
    """
    values = [_average_discounted(o, teacher.gamma) if teacher.gamma < 1 else float(o.rts or 0.0) for o in outcomes]
    size = abs(unit or sum(abs(v) for v in values) / len(values) or 1.0)
    return [v / size for v in values]


def _average_discounted(outcome: Outcome, gamma: float) -> float:
    samples = [float(m) for m in outcome.metric_trace.get("samples", ()) if m is not None]
    if not samples:
        return float(outcome.rts or 0.0)
    weights = [gamma ** (len(samples) - 1 - t) for t in range(len(samples))]
    return sum(w * m for w, m in zip(weights, samples, strict=True)) / sum(weights)
