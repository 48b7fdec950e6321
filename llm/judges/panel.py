"""Many judgements as one: best-worst scaling and Bradley-Terry, with intervals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from llm.prompts import render
from llm.records import Pick

QUANTILE = 1.959963984540054
"""The quantile of the standard normal distribution for a two-sided 95% interval."""
DISSENT = "(of somebody who liked another one best)"
"""Prefix of a reason about another best than the panel's."""


@dataclass(frozen=True)
class Comparison:
    """`winner` was preferred to `loser`; half of a tie counts for each."""

    winner: str
    loser: str
    weight: float = 1.0
    share: float = 1.0
    """Its weight against an independent comparison: below 1 where one answer implies several. Only intervals use it."""


@dataclass(frozen=True)
class Rating:
    """An estimate and its 95% interval."""

    value: float
    low: float
    high: float


def list_comparisons(pick: Pick, shown: Sequence[str]) -> list[Comparison]:
    """The pairs that best and worst of K imply: the best beats every other, every other beats the worst (2K - 3
    pairs). Where the judge saw no difference, every pair is a tie; where nobody could judge, there are none.
    """
    if pick.undecided:
        pairs = combinations(shown, 2) if pick.undecided == "equal" else ()
        share = 1 / max(len(shown) - 1, 1)
        return [Comparison(*pair, 0.5, share) for a, b in pairs for pair in ((a, b), (b, a))]
    share = compute_independence(len(shown), pick.worst is not None)
    found = [Comparison(pick.best, other, share=share) for other in shown if other != pick.best]
    if pick.worst is not None:
        rest = [other for other in shown if other not in (pick.best, pick.worst)]
        found += [Comparison(other, pick.worst, share=share) for other in rest]
    return found


def compute_independence(k: int, worst: bool = True) -> float:
    """The information of each of the 2K - 3 pairs of one best and worst of K, relative to a separate comparison: 0.36
    for 6. Without a worst there are K - 1 pairs: 2/K.

    Fisher information about a contrast, of equals: the choice of the best of K has 1/K, that of the worst of the rest
    1/K - 1/(K (K-1)^2); as many independent pairs would have half of their number over K - 1.
    """
    if not worst:
        return 2 / k if k > 1 else 1.0
    return (2 / k - 1 / (k * (k - 1) ** 2)) * 2 * (k - 1) / (2 * k - 3) if k > 1 else 1.0


def read_comparison(first: str, second: str, answer: str) -> list[Comparison]:
    """The comparisons in an answer to a Compare: one comparison, half of one each way for `equal`, none for `skip`."""
    if answer == "skip":
        return []
    if answer == "equal":
        return [Comparison(first, second, 0.5), Comparison(second, first, 0.5)]
    return [Comparison(first, second) if answer == "first" else Comparison(second, first)]


def score_best_worst(picks: Sequence[tuple[Pick, Sequence[str]]]) -> dict[str, Rating]:
    """Best-worst scaling: (times best - times worst) / times shown, in [-1, 1], for each candidate.

    `picks` are pairs of a pick and the ids that were shown. The interval is the normal approximation of a mean of
    scores 1, 0, -1: value +- 1.96 sqrt((p_best + p_worst - value^2) / shown).
    """
    times: dict[str, int] = {}
    best: dict[str, int] = {}
    worst: dict[str, int] = {}
    for pick, shown in picks:
        for name in shown:
            times[name] = times.get(name, 0) + 1
        best[pick.best] = best.get(pick.best, 0) + 1
        if pick.worst is not None:
            worst[pick.worst] = worst.get(pick.worst, 0) + 1
    ratings = {}
    for name, count in times.items():
        up, down = best.get(name, 0) / count, worst.get(name, 0) / count
        half = QUANTILE * math.sqrt((up + down - (up - down) ** 2) / count)
        ratings[name] = Rating(up - down, max(-1.0, up - down - half), min(1.0, up - down + half))
    return ratings


def bradley_terry(seen: Sequence[Comparison], prior: float = 1.0, names: Sequence[str] = ()) -> dict[str, Rating]:
    """Maximum-likelihood strengths b with P(i beats j) = 1 / (1 + exp(b_j - b_i)), and 95% intervals.

    Everybody also plays `prior` drawn games against a player of strength 0, half of each won: that keeps strengths
    finite where somebody always wins, and ties groups that never met. With `prior` 0 strengths sum to zero; then raises
    ValueError where no finite estimate exists. Which comparison came first plays no part. `names` are rated even where
    they were in no comparison. Intervals: b +- 1.96 standard errors of b minus the mean of all b, for where the average
    player stands is known from the prior alone; by H^-1 J H^-1 with the Fisher information H and the variance J of the
    gradient, in which a comparison weighs 1 / share.
    """
    from llm.judges.bradley_terry import estimate  # here, because numpy is slow to import, and few processes need it

    players = sorted({*names, *(c.winner for c in seen), *(c.loser for c in seen)})
    index = {name: i for i, name in enumerate(players)}
    games = [(index[c.winner], index[c.loser], c.weight, c.share) for c in seen]
    strengths, errors = estimate(len(players), games, prior)
    return {
        name: Rating(*(round(float(v), 9) for v in (b, b - QUANTILE * e, b + QUANTILE * e)))
        for name, b, e in zip(players, strengths, errors, strict=True)
    }


def pool_picks(picks: Sequence[tuple[Pick, Sequence[str]]]) -> Pick:
    """One pick for a panel: highest and lowest Bradley-Terry strength; ties go to the better best-worst score, then to
    the first shown. Reasons are joined, marked where they speak of another best. Tags are kept as often as they were
    given to this best and this worst, the commonest first. Raises ValueError without picks.
    """
    if not picks:
        raise ValueError("nobody of the panel has picked yet")
    shown = list(dict.fromkeys(name for _, ids in picks for name in ids))
    strengths = bradley_terry([c for pick, ids in picks for c in list_comparisons(pick, ids)], names=shown)
    scaled = score_best_worst(picks)
    ranked = sorted(shown, key=lambda name: (-round(strengths[name].value, 6), -scaled[name].value))
    best, worst = ranked[0], ranked[-1] if len(ranked) > 1 else None
    said = [(pick, pick.reason.strip()) for pick, _ in picks]
    reasons = "\n".join(text if pick.best == best else f"{DISSENT} {text}" for pick, text in said if text)
    tags = count_tags([_drop_foreign_tags(best, worst, pick) for pick, _ in picks])
    return Pick(best, worst, reasons, tuple(tag for tag, times in tags.items() for _ in range(times)))


def _drop_foreign_tags(best: str, worst: str | None, pick: Pick) -> tuple[str, ...]:
    """The pick's tags without "best: ..." about another best and "worst: ..." about another worst."""
    others = [place for place, same in (("best: ", pick.best == best), ("worst: ", pick.worst == worst)) if not same]
    return tuple(tag for tag in pick.tags if not tag.startswith(tuple(others)))


def count_tags(tags: Sequence[Sequence[str]]) -> Mapping[str, int]:
    """How often each tag was given, the commonest first, then by name."""
    counts: dict[str, int] = {}
    for given in tags:
        for tag in given:
            counts[tag] = counts.get(tag, 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


UNDECIDED = {"equal": "the judge saw no difference", "skip": "the judge could not judge them"}
"""What an answer that names nobody means."""


def reason_text(pick: Pick) -> str:
    """A person's sentence and tags as one text; empty when there are none."""
    tags = f"Tags: {format_tags(pick.tags)}" if pick.tags else ""
    return "\n".join(part for part in (pick.reason.strip(), tags) if part)


def undecided_text(pick: Pick) -> str:
    """That best and worst were drawn, and why; empty where the judge named them."""
    return render("undecided", why=UNDECIDED[pick.undecided]) if pick.undecided else ""


def format_tags(tags: Sequence[str]) -> str:
    """The tags in their order, each once, with the number of people where several gave it."""
    return ", ".join(f"{tag} ({times} people)" if times > 1 else tag for tag, times in Counter(tags).items())
