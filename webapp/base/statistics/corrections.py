"""P values corrected for testing several hypotheses."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p values (Holm, 1979), in the order given: p_(i) times (m - i), made non-decreasing, at most 1."""
    adjusted, least = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = least
    return adjusted


def bonferroni(p_values: Sequence[float]) -> list[float]:
    return [min(1.0, len(p_values) * p) for p in p_values]


CORRECTIONS: dict[str, Callable[[Sequence[float]], list[float]]] = {
    "holm": holm,
    "bonferroni": bonferroni,
    "none": list,
}
