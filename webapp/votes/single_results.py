"""The results of a closed poll whose films were rated, or whose answers were graded, one at a time."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from webapp.base.statistics.aggregates import bound_mean
from webapp.base.statistics.answer_quality import Agreement, measure_agreement
from webapp.base.statistics.proportions import Interval
from webapp.experiments.alignment import ALIGN, average
from webapp.experiments.models import Experiment
from webapp.votes.models import Evaluator, Poll, Vote
from webapp.votes.pair_names import name_pairs
from webapp.votes.poll_results import find_counted_votes, find_votes_of_finished
from webapp.votes.single_items import get_highest


@dataclass(frozen=True)
class ItemResult:
    """One film or answer, with the marks that people gave it."""

    name: str
    arm: str
    ratings: tuple[float, ...]
    reasoning: tuple[float, ...]
    """Empty where it was not asked for."""
    is_full: bool
    """Whether everybody gave it all points, for the reasoning too."""

    @property
    def mean(self) -> float | None:
        return fmean(self.ratings) if self.ratings else None


@dataclass(frozen=True)
class ArmResult:
    """All films or answers of one arm."""

    arm: str
    items: int
    answers: int
    mean: float
    """The mean of the items' means."""
    interval: Interval | None
    """The 95% interval of that mean, for other such items; None for too few items."""
    rate: float
    """The mean as a share of the best mark: the alignment rate of films."""
    reasoning: float | None
    right: int
    """Items to which everybody gave all points."""


@dataclass(frozen=True)
class SingleResults:
    finished: int
    """People who answered about everything."""
    left_out: int
    """People whose answers are incomplete, and not counted."""
    arms: tuple[ArmResult, ...]
    items: tuple[ItemResult, ...]
    agreement: Agreement | None
    """None where nothing was rated twice, or all marks are equal."""
    agreement_reasoning: Agreement | None


def compute_results(poll: Poll) -> SingleResults:
    votes = find_counted_votes(poll)
    names = name_pairs(list(poll.pairs.all()))
    given: dict[int, list[Vote]] = defaultdict(list)
    for vote in votes:
        given[vote.showing.pair_id].append(vote)
    items = tuple(_summarize_item(poll, names[key], own) for key, own in sorted(given.items()))
    begun = Evaluator.objects.filter(poll=poll, consented_at__isnull=False, finished_at=None, withdrawn_at=None)
    return SingleResults(
        finished=len({vote.showing.evaluator_id for vote in votes}),
        left_out=begun.count(),
        arms=tuple(_summarize_arm(poll, arm, items) for arm in dict.fromkeys(item.arm for item in items)),
        items=items,
        agreement=_measure_agreement(votes, "rating"),
        agreement_reasoning=_measure_agreement(votes, "reasoning"),
    )


def _summarize_item(poll: Poll, name: str, votes: Sequence[Vote]) -> ItemResult:
    ratings = tuple(vote.rating for vote in votes if vote.rating is not None)
    reasoning = tuple(vote.reasoning for vote in votes if vote.reasoning is not None)
    full = all(mark == get_highest(poll) for mark in (*ratings, *reasoning))
    return ItemResult(name, votes[0].showing.pair.first_arm, ratings, reasoning, full)


def _summarize_arm(poll: Poll, arm: str, items: Iterable[ItemResult]) -> ArmResult:
    own = [item for item in items if item.arm == arm]
    means = tuple(fmean(item.ratings) for item in own)
    reasoned = [fmean(item.reasoning) for item in own if item.reasoning]
    return ArmResult(
        arm=arm,
        items=len(own),
        answers=sum(len(item.ratings) for item in own),
        mean=fmean(means),
        interval=bound_mean((means,)),
        rate=fmean(means) / get_highest(poll),
        reasoning=fmean(reasoned) if reasoned else None,
        right=sum(item.is_full for item in own),
    )


def _measure_agreement(votes: Iterable[Vote], field: str) -> Agreement | None:
    by_rater: dict[int, dict[Hashable, float]] = defaultdict(dict)
    for vote in votes:
        if (mark := getattr(vote, field)) is not None:
            by_rater[vote.showing.evaluator_id][vote.showing.pair_id] = mark
    return measure_agreement(list(by_rater.values()), "interval") if by_rater else None


def read_alignments(of: Collection[uuid.UUID], **_: Any) -> Mapping[uuid.UUID, tuple[float, int]]:
    """By experiment, the alignment rate of its policies as people saw it in unblinded polls, and how many ratings: of
    the newest order whose films people rated.
    """
    orders = Experiment.objects.filter(method=ALIGN.name, options__of__in=[str(number) for number in of])
    trained = {str(row.public_id): uuid.UUID(row.options["of"]) for row in orders.order_by("finished_at", "pk")}
    films: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for shown, rating in _find_ratings(trained):
        if rating is not None:
            films[shown["experiment"]][shown["clip"]].append(rating)
    newest = {trained[order]: films[order] for order in trained if order in films}
    return {number: (average(own.values()), sum(map(len, own.values()))) for number, own in newest.items()}


def _find_ratings(orders: Collection[str]) -> Iterable[tuple[Any, float | None]]:
    """The origins and ratings of all films of these orders that count in unblinded polls, in one query."""
    if not orders:
        return ()
    polls = Poll.objects.filter(form=Poll.Form.RATINGS, unblinded_at__isnull=False)
    votes = find_votes_of_finished(polls).filter(showing__pair__origin__first__experiment__in=list(orders))
    return votes.values_list("showing__pair__origin__first", "rating").order_by("pk")
