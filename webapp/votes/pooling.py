"""The answers of a poll pooled over all its pairs of the same two arms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from webapp.base.statistics.crossed import PooledShare, pool_answers
from webapp.base.statistics.proportions import format_p
from webapp.votes.models import Pair, Vote

METHOD = (
    "two-way random-effects variance over evaluators and pairs, Satterthwaite's degrees of freedom, and the "
    "Clopper-Pearson interval of the effective number of answers (Korn-Graubard)"
)
"""What plan and page call the estimate."""


@dataclass(frozen=True)
class Pooled:
    """All pairs of the same two arms."""

    first_arm: str
    second_arm: str
    pairs: int
    evaluators: int
    first: int
    second: int
    equal: int
    others: PooledShare
    """For other evaluators and other pairs made in the same way."""
    these: PooledShare | None
    """For other evaluators who see these very pairs."""

    @property
    def p_words(self) -> str:
        return format_p(self.others.p)

    @property
    def pairs_named(self) -> str:
        return "Both pairs" if self.pairs == 2 else f"All {self.pairs} pairs"

    @property
    def sentence(self) -> str:
        """The result in a sentence."""
        found = self.others
        words = f"{found.share:.0%} of answers prefer {self.first_arm} to {self.second_arm}"
        return f"{self.pairs_named}: {words} (interval {found.interval.low:.0%} to {found.interval.high:.0%})."

    @property
    def name(self) -> str:
        return f"{self.pairs_named}: {self.first_arm} over {self.second_arm}"


def group_by_arms(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """The pairs of the same two arms together, whichever comes first in each; only groups of several pairs."""
    groups: dict[frozenset[str], list[Pair]] = defaultdict(list)
    for pair in pairs:
        groups[frozenset((pair.first_arm, pair.second_arm))].append(pair)
    return [group for group in groups.values() if len(group) > 1]


def pool_pairs(pairs: Sequence[Pair], votes: Sequence[Vote], level: float) -> tuple[Pooled, ...]:
    """The pooled estimates; none where there is one pair of each two arms, or too few answers."""
    found = (_pool_group(group, votes, level) for group in group_by_arms(pairs))
    return tuple(one for one in found if one is not None)


def _pool_group(pairs: Sequence[Pair], votes: Sequence[Vote], level: float) -> Pooled | None:
    first_arm, second_arm = pairs[0].first_arm, pairs[0].second_arm
    turned = {pair.pk: pair.first_arm != first_arm for pair in pairs}
    rows: dict[int, dict[int, float | None]] = defaultdict(dict)
    for vote in votes:
        pair = vote.showing.pair_id
        if pair in turned:
            prefers = None if vote.answer == "equal" else float((vote.answer == "first") != turned[pair])
            rows[vote.showing.evaluator_id][pair] = prefers
    table = [[row[pair.pk] for pair in pairs] for row in rows.values()]
    others = pool_answers(table, level)
    if others is None:
        return None
    answers = [answer for row in table for answer in row]
    counts = (answers.count(1.0), answers.count(0.0), answers.count(None))
    these = pool_answers(table, level, generalize=False)
    return Pooled(first_arm, second_arm, len(pairs), len(table), *counts, others, these)
