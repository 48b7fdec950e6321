"""Attention checks and repeats: who was attentive, by the rule of the plan. Neither counts in an estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webapp.base.statistics.proportions import Interval, clopper_pearson
from webapp.votes.models import Poll, Vote
from webapp.votes.pair_names import name_pairs


@dataclass(frozen=True)
class CheckResult:
    """An attention check: how many of those who answered everything were right."""

    name: str
    right: int
    answered: int


@dataclass(frozen=True)
class Exclusion:
    """What attention checks say, by the rule of the plan."""

    checks: tuple[CheckResult, ...]
    needed: int
    """Checks to pass."""
    failed: tuple[str, ...]
    """Labels of the evaluators who are left out of the main estimate."""


@dataclass(frozen=True)
class Consistency:
    """How often evaluators gave the same answer to a pair that was shown twice."""

    same: int
    shown: int
    interval: Interval
    """Clopper-Pearson, all answers taken as independent."""


def compute_exclusion(poll: Poll, answers: Sequence[Vote]) -> Exclusion | None:
    """Who answered fewer attention checks rightly than the plan demands."""
    pairs = list(poll.pairs.all())
    checks = [pair for pair in pairs if pair.is_check]
    if not checks:
        return None
    names, needed = name_pairs(pairs), poll.checks_to_pass or len(checks)
    right = {vote.showing.evaluator.label: 0 for vote in answers}
    by_check: dict[int, list[bool]] = {pair.pk: [] for pair in checks}
    for vote in answers:
        if vote.showing.pair.is_check:
            by_check[vote.showing.pair_id].append(vote.is_right)
            right[vote.showing.evaluator.label] += vote.is_right
    found = (CheckResult(names[key], sum(said), len(said)) for key, said in by_check.items())
    return Exclusion(tuple(found), needed, tuple(label for label, count in right.items() if count < needed))


def compute_consistency(answers: Sequence[Vote]) -> Consistency | None:
    first = {
        (vote.showing.evaluator_id, vote.showing.pair_id): vote.answer for vote in answers if not vote.showing.again
    }
    again = [vote for vote in answers if vote.showing.again]
    if not again:
        return None
    same = sum(vote.answer == first[vote.showing.evaluator_id, vote.showing.pair_id] for vote in again)
    return Consistency(same, len(again), clopper_pearson(same, len(again)))
