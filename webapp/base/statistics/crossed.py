"""A share over crossed answers: every evaluator answers about every pair. For binary answers and small samples.

Evaluators who lean one way, and pairs whose difference is plain, make answers depend on each other twice. The variance
is that of the two-way random-effects analysis of variance of multi-reader multi-case studies (Chen, Wunderlich,
Petrick and Gallas, Journal of Medical Imaging 1(3), 2014), with Satterthwaite's degrees of freedom. It gives an
effective number of answers, and from that an interval of Clopper and Pearson (Korn and Graubard, Survey Methodology
24(2), 1998), which stays between 0 and 1 and holds where almost everybody agrees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from webapp.base.statistics.proportions import Interval, clopper_pearson

Answers = Sequence[Sequence[float | None]]
"""A row for each evaluator, a column for each pair: 1 for the first, 0 for the second, None for no difference."""


@dataclass(frozen=True)
class PooledShare:
    """The share of answers that prefer the first, among those that prefer one."""

    share: float
    interval: Interval
    p: float
    """Two-sided, of a share of 1/2: below 1 - level where the interval excludes 1/2."""
    effective: float
    """The number of independent answers that would say as much."""


def pool_answers(answers: Answers, level: float = 0.95, generalize: bool = True) -> PooledShare | None:
    """The pooled share with its interval.

    `generalize`: to other pairs made in the same way, as well as to other evaluators; else to other evaluators who see
    these very pairs. None where that needs more evaluators or pairs, or where nobody preferred one.
    """
    table = np.array([[np.nan if one is None else one for one in row] for row in answers], dtype=float)
    if table.ndim != 2 or len(table) < 2 or table.shape[1] < (2 if generalize else 1) or np.isnan(table).all():
        return None
    preferred = ~np.isnan(table)
    count = int(preferred.sum())
    share = float(np.nansum(table) / count)
    # Taylor linearization of the ratio: an answer without preference adds nothing to the sum or to the count.
    parts = np.where(preferred, table - share, 0.0) / preferred.mean()
    variance, freedom = _measure_crossed(parts) if generalize else _measure_rows(parts)
    if share in (0.0, 1.0):  # nothing is known of how answers vary: each evaluator, or pair, counts once
        effective = float(min(table.shape) if generalize else len(table))
    elif variance == 0.0:
        effective = float(count)
    else:
        tail = (1 - level) / 2
        ratio = scipy.stats.norm.isf(tail) / scipy.stats.t.isf(tail, freedom)
        effective = min(float(share * (1 - share) / variance * ratio**2), float(count))
    return PooledShare(share, *_invert_binomial(share * effective, effective, level), effective)


def _measure_crossed(parts: np.ndarray) -> tuple[float, float]:
    """Variance of the mean over random rows and random columns, and its degrees of freedom.

    It is at least what any one of the three mean squares alone would give: an estimate below that is chance.
    """
    rows, columns = parts.shape
    by_row, by_column = parts.mean(axis=1) - parts.mean(), parts.mean(axis=0) - parts.mean()
    rest = parts - parts.mean() - by_row[:, None] - by_column[None, :]
    free = (rows - 1, columns - 1, (rows - 1) * (columns - 1))
    squares = (columns * (by_row**2).sum(), rows * (by_column**2).sum(), (rest**2).sum())
    means = [float(square) / number for square, number in zip(squares, free, strict=True)]
    total = max(means[0] + means[1] - means[2], *means)
    spread = sum(mean**2 / number for mean, number in zip(means, free, strict=True))
    freedom = max(total**2 / spread, min(free)) if spread else float(free[2])
    return total / (rows * columns), freedom


def _measure_rows(parts: np.ndarray) -> tuple[float, float]:
    """Variance of the mean over random rows alone, and its degrees of freedom."""
    means = parts.mean(axis=1)
    return float(means.var(ddof=1)) / len(means), float(len(means) - 1)


def _invert_binomial(successes: float, trials: float, level: float) -> tuple[Interval, float]:
    """The interval of Clopper and Pearson and the p value that belongs to it; neither number need be whole."""
    failures = trials - successes
    beta = scipy.stats.beta
    at_least = float(beta.cdf(0.5, successes, failures + 1)) if successes > 0 else 1.0
    at_most = float(beta.sf(0.5, successes + 1, failures)) if failures > 0 else 1.0
    return clopper_pearson(successes, trials, level), min(1.0, 2 * min(at_least, at_most))
