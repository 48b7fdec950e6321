"""A preference model: it learns from the picks of a judge which films are better, by what their numbers are.

A film's numbers (Outcome.states) are how often the robot fell, and mean, smallest, largest and speed of each
coordinate, over their deviation among all films judged so far. Its worth is linear in them, and of two films the one
that is worth more is the likelier to be preferred (Bradley and Terry): P(i before j) = 1 / (1 + exp(w (x_j - x_i))).
The weights maximise the likelihood of all pairs that the picks imply, each by its share, less |w|^2 / 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llm.judges.panel import list_comparisons
from llm.records import Outcome, Pick

NUMBERS = ("mean", "min", "max", "speed")
"""The numbers that describe each coordinate."""


@dataclass(frozen=True)
class Judged:
    """A round that was judged."""

    pick: Pick
    outcomes: tuple[Outcome, ...]
    """The outcomes that the judge was shown."""


def read_film(outcome: Outcome) -> tuple[float, ...]:
    """The numbers of a film; empty where they are not known, and for what is no film."""
    if "coordinates" not in outcome.states:
        return ()
    falls = outcome.states["falls"] / (outcome.states["seconds"] or 1.0)
    return (falls, *(float(row[name]) for row in outcome.states["coordinates"] for name in NUMBERS))


def fit(rounds: Sequence[Judged]) -> Callable[[Outcome], float] | None:
    """What films are worth, by the picks of these rounds; None where no two films with numbers were compared."""
    import numpy as np  # here, because it is slow to import, and few processes need it

    films = {o.candidate.id: read_film(o) for judged in rounds for o in judged.outcomes}
    films = {name: numbers for name, numbers in films.items() if numbers}
    pairs = [
        pair
        for one in rounds
        for pair in list_comparisons(one.pick, one.pick.list_seen([o.candidate.id for o in one.outcomes]))
    ]
    pairs = [pair for pair in pairs if pair.winner in films and pair.loser in films]
    if not pairs:
        return None
    known = np.array([*films.values()])
    mean, deviation = known.mean(0), known.std(0)
    scale = np.where(deviation > 1e-9, deviation, np.inf)
    apart = np.array([np.subtract(films[pair.winner], films[pair.loser]) for pair in pairs]) / scale
    shares = np.array([pair.weight * pair.share for pair in pairs])
    weights = np.zeros(known.shape[1])
    for _ in range(100):  # Newton's method; the likelihood is concave
        unsure = 1.0 / (1.0 + np.exp(apart @ weights))
        gradient = apart.T @ (shares * unsure) - weights
        information = (apart.T * (shares * unsure * (1.0 - unsure))) @ apart + np.eye(len(weights))
        step = np.linalg.solve(information, gradient)
        weights = weights + np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-10:
            break
    return lambda outcome: float((np.array(read_film(outcome)) - mean) / scale @ weights)


def count_foretold(rounds: Sequence[Judged]) -> tuple[int, int]:
    """Of the pairs that the last round's pick implies, how many the rounds before it foretold; and all of them."""
    worth, last = fit(rounds[:-1]), rounds[-1]
    films = {o.candidate.id: o for o in last.outcomes if read_film(o)}
    pairs = list_comparisons(last.pick, last.pick.list_seen(films)) if not last.pick.undecided else []
    if worth is None or not pairs:
        return 0, 0
    return sum(worth(films[pair.winner]) > worth(films[pair.loser]) for pair in pairs), len(pairs)


def rank(rounds: Sequence[Judged], outcomes: Sequence[Outcome]) -> list[Outcome]:
    """These outcomes, the best first, by what all picks taught; none where they taught nothing. Those without a film's
    numbers are left out.
    """
    worth = fit(rounds)
    return sorted(filter(read_film, outcomes), key=worth, reverse=True) if worth else []
