"""Proportions: exact tests, intervals and power. Pure functions over SciPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

# scipy loads scipy.stats on first use, so that web processes that show no results do not load it.


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


@dataclass(frozen=True)
class Preference:
    """How often the first of two was preferred, among those who preferred one."""

    first: int
    second: int
    p: float
    """Two-sided exact binomial test of a rate of 1/2."""
    exact: Interval
    """Clopper-Pearson interval of the rate."""
    mean: float
    """Posterior mean of the rate under the uniform prior Beta(1, 1)."""
    credible: Interval
    """Equal-tailed posterior interval."""
    above_half: float
    """Posterior probability that the rate is above 1/2."""

    @property
    def trials(self) -> int:
        return self.first + self.second

    @property
    def rate(self) -> float | None:
        return self.first / self.trials if self.trials else None


def summarize_preference(first: int, second: int, level: float = 0.95) -> Preference:
    """All statistics of a pair, from the votes for its first and its second. Without votes p is 1."""
    n = first + second
    posterior = scipy.stats.beta(1 + first, 1 + second)
    low, high = posterior.interval(level)
    return Preference(
        first=first,
        second=second,
        p=binomial_test(first, n),
        exact=clopper_pearson(first, n, level),
        mean=float(posterior.mean()),
        credible=Interval(float(low), float(high)),
        above_half=float(posterior.sf(0.5)),
    )


def binomial_test(successes: int, trials: int) -> float:
    """Two-sided exact p of the number of successes under probability 1/2; 1 without trials."""
    return float(scipy.stats.binomtest(successes, trials, 0.5).pvalue) if trials else 1.0


def clopper_pearson(successes: float, trials: float, level: float = 0.95) -> Interval:
    """The exact interval of a proportion (Clopper and Pearson, 1934): covers the truth at least `level` of the time.

    The numbers need not be whole: estimates of effective ones are not.
    """
    tail, failures = (1 - level) / 2, trials - successes
    low = float(scipy.stats.beta.ppf(tail, successes, failures + 1)) if successes > 0 else 0.0
    high = float(scipy.stats.beta.ppf(1 - tail, successes + 1, failures)) if failures > 0 else 1.0
    return Interval(low, high)


def wilson(successes: int, trials: int) -> Interval:
    """The 95% score interval of a proportion (Wilson, 1927). Raises ValueError without trials."""
    found = scipy.stats.binomtest(successes, trials).proportion_ci(0.95, "wilson")
    return Interval(float(found.low), float(found.high))


def format_p(p: float) -> str:
    return f"{p:.4f}" if p >= 0.0001 else "< 0.0001"


def compute_power(trials: int, rate: float, alpha: float = 0.05) -> float:
    """Probability that the two-sided exact test rejects a rate of 1/2 at `alpha`, where the true rate is `rate`.

    The test rejects for k <= c or k >= n - c, with c the largest k for which 2 P(K <= k | 1/2) <= alpha.
    """
    rejecting = np.flatnonzero(2 * scipy.stats.binom.cdf(np.arange((trials + 1) // 2), trials, 0.5) <= alpha)
    if not rejecting.size:
        return 0.0
    c = rejecting[-1]
    return float(scipy.stats.binom.cdf(c, trials, rate) + scipy.stats.binom.sf(trials - c - 1, trials, rate))
