"""The results of a closed poll."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from django.db.models import QuerySet

from llm.judges.panel import Comparison, Rating, bradley_terry, read_comparison
from webapp.base.csv_cells import format_table
from webapp.base.statistics.corrections import CORRECTIONS
from webapp.base.statistics.proportions import Preference, format_p, summarize_preference
from webapp.votes.attention import Consistency, Exclusion, compute_consistency, compute_exclusion
from webapp.votes.models import Evaluator, Pair, Poll, Vote
from webapp.votes.pair_names import describe_pair, name_pairs
from webapp.votes.poll_ballot import STRENGTHS
from webapp.votes.pooling import Pooled, pool_pairs


@dataclass(frozen=True)
class PairResult:
    pair: Pair
    name: str
    """Unique within the poll."""
    preference: Preference
    equal: int
    adjusted: float
    """p after the plan's correction."""
    significant: bool
    by_strength: tuple[tuple[str, int, int], ...]
    """(word, votes for the first, votes for the second); empty if it was not asked."""

    @property
    def p_words(self) -> str:
        return format_p(self.preference.p)

    @property
    def adjusted_words(self) -> str:
        return format_p(self.adjusted)

    @property
    def title(self) -> str:
        """The name, with the arms where it does not say them."""
        return describe_pair(self.pair, self.name)

    @property
    def sentence(self) -> str:
        """The result in a sentence."""
        found, pair = self.preference, self.pair
        counts = f"{pair.first_arm} {found.first}, {pair.second_arm} {found.second}"
        preferred = f"{pair.first_arm if found.first > found.second else pair.second_arm} was preferred"
        verdict = preferred if self.significant else "no significant preference"
        return f"{counts}: {verdict}." if self.name == pair.arms else f"{self.name}: {counts}; {verdict}."


@dataclass(frozen=True)
class Results:
    finished: int
    """Evaluators who answered everything."""
    counted: int
    """Evaluators who finished and are not left out for attention checks."""
    left_out: int
    """Evaluators whose answers are incomplete, and not counted."""
    pairs: tuple[PairResult, ...]
    sides: Preference
    """Left against right, over all votes: 1/2 if sides do not matter."""
    ratings: tuple[tuple[str, Rating], ...]
    """Bradley-Terry strength of each arm, the strongest first; empty for two arms."""
    plain: bool
    """Whether the strengths are the maximum-likelihood estimate."""
    pooled: tuple[Pooled, ...] = ()
    """Over all pairs of the same two arms."""
    exclusion: Exclusion | None = None
    """None without attention checks."""
    consistency: Consistency | None = None
    """None where no pair was shown twice."""
    everybody: Results | None = None
    """The results with those who are left out; None where nobody is."""


def find_votes_of_finished(polls: Iterable[Poll]) -> QuerySet[Vote]:
    """The votes in these polls of everybody who answered every pair."""
    return Vote.objects.filter(
        showing__evaluator__poll__in=polls,
        showing__evaluator__finished_at__isnull=False,
        showing__evaluator__withdrawn_at=None,
    )


def find_counted_votes(poll: Poll) -> list[Vote]:
    """The votes of everybody who answered every pair, by evaluator."""
    votes = find_votes_of_finished([poll])
    return list(
        votes.select_related("showing__pair", "showing__evaluator").order_by("showing__evaluator", "showing__position")
    )


def compute_results(poll: Poll) -> Results:
    answers = find_counted_votes(poll)
    asked = [vote for vote in answers if not (vote.showing.again or vote.showing.pair.is_check)]
    exclusion = compute_exclusion(poll, answers)
    failed = set(exclusion.failed) if exclusion else set()
    found = _compute_results(poll, [vote for vote in asked if vote.showing.evaluator.label not in failed])
    everybody = _compute_results(poll, asked) if failed else None
    return replace(
        found,
        counted=found.finished - len(failed),
        exclusion=exclusion,
        consistency=compute_consistency(answers),
        everybody=everybody,
    )


def _compute_results(poll: Poll, votes: Sequence[Vote]) -> Results:
    pairs = _compute_pairs(poll, votes)
    left = sum(vote.choice == Vote.Choice.LEFT for vote in votes)
    right = sum(vote.choice == Vote.Choice.RIGHT for vote in votes)
    ratings, plain = _compute_ratings([result.pair for result in pairs], votes)
    done = Evaluator.objects.filter(poll=poll, finished_at__isnull=False, withdrawn_at=None).count()
    begun = Evaluator.objects.filter(poll=poll, consented_at__isnull=False, finished_at=None, withdrawn_at=None)
    level = 1 - poll.alpha
    sides = summarize_preference(left, right, level)
    pooled = pool_pairs([result.pair for result in pairs], votes, level)
    return Results(done, done, begun.count(), pairs, sides, ratings, plain, pooled)


def _compute_pairs(poll: Poll, votes: Sequence[Vote]) -> tuple[PairResult, ...]:
    every = list(poll.pairs.all())
    names = name_pairs(every)
    pairs = [pair for pair in every if not pair.is_check]
    found = []
    for pair in pairs:
        answers = [vote.answer for vote in votes if vote.showing.pair_id == pair.pk]
        found.append(summarize_preference(answers.count("first"), answers.count("second"), 1 - poll.alpha))
    adjusted = CORRECTIONS[poll.correction]([one.p for one in found])
    return tuple(
        PairResult(
            pair=pair,
            name=names[pair.pk],
            preference=one,
            equal=sum(vote.answer == "equal" for vote in votes if vote.showing.pair_id == pair.pk),
            adjusted=p,
            significant=p <= poll.alpha,
            by_strength=_count_by_strength(poll, [vote for vote in votes if vote.showing.pair_id == pair.pk]),
        )
        for pair, one, p in zip(pairs, found, adjusted, strict=True)
    )


def _count_by_strength(poll: Poll, votes: Iterable[Vote]) -> tuple[tuple[str, int, int], ...]:
    if not poll.ask_strength:
        return ()
    given = [(vote.strength, vote.answer) for vote in votes]
    return tuple((word, given.count((n, "first")), given.count((n, "second"))) for n, word in STRENGTHS.items())


def _compute_ratings(pairs: Sequence[Pair], votes: Sequence[Vote]) -> tuple[tuple[tuple[str, Rating], ...], bool]:
    arms = list(dict.fromkeys(arm for pair in pairs for arm in (pair.first_arm, pair.second_arm)))
    seen: list[Comparison] = []
    for vote in votes:
        seen += read_comparison(vote.showing.pair.first_arm, vote.showing.pair.second_arm, vote.answer)
    if len(arms) < 3 or not seen:
        return (), True
    rated, plain = estimate_strengths(seen, arms)
    return tuple(sorted(rated.items(), key=lambda item: -item[1].value)), plain


COLUMNS = (
    *("evaluator", "place", "pair", "left", "right", "choice", "preferred", "strength"),
    *("decide_ms", "plays", "focus_lost", "load_ms", "failed_clips", "answered_at", "counted", "pair_name"),
    *("purpose", "again", "check_right", "taken_back", "left_out", "rating", "reasoning"),
)


def write_csv(poll: Poll) -> str:
    """All votes with pseudonyms, one row each. New columns are only ever added at the end."""
    names = name_pairs(list(poll.pairs.all()))
    votes = Vote.objects.filter(showing__evaluator__poll=poll, showing__evaluator__withdrawn_at=None)
    exclusion = compute_exclusion(poll, find_counted_votes(poll))
    rows: list[Sequence[object]] = [COLUMNS]
    for vote in votes.select_related("showing__pair", "showing__evaluator").order_by("showing__evaluator", "pk"):
        showing, check = vote.showing, vote.showing.pair.is_check
        checked = (showing.pair.purpose, int(showing.again), int(vote.is_right) if check else "", showing.taken_back)
        left_out = int(exclusion is not None and showing.evaluator.label in exclusion.failed)
        marks = ["" if mark is None else f"{mark:g}" for mark in (vote.rating, vote.reasoning)]
        rows.append([*_make_row(vote), names[showing.pair_id], *checked, left_out, *marks])
    return format_table(rows)


def _make_row(vote: Vote) -> list[object]:
    showing, pair = vote.showing, vote.showing.pair
    arms = (pair.first_arm, pair.second_arm)
    preferred = {"first": arms[0], "second": arms[1]}.get(vote.answer, "")
    left, right = arms if showing.first_left or vote.choice == Vote.Choice.RATED else arms[::-1]
    measured = [vote.client.get(key, "") for key in COLUMNS[8:13]]
    return [
        *(showing.evaluator.label, showing.position, pair.position, left, right, vote.choice, preferred),
        *(vote.strength or "", *measured, vote.created_at.isoformat(), int(showing.evaluator.finished_at is not None)),
    ]


def estimate_strengths(seen: Sequence[Comparison], arms: Sequence[str]) -> tuple[dict[str, Rating], bool]:
    """Bradley-Terry strengths of all arms with 95% intervals (logits), and whether they are the plain estimate.

    If no finite maximum-likelihood estimate exists (an arm won or lost everything), every arm also plays one drawn
    game against a player of strength 0 (llm.judges.panel), and the second value is False.
    """
    try:
        return bradley_terry(seen, prior=0.0, names=arms), True
    except ValueError:
        return bradley_terry(seen, prior=1.0, names=arms), False
