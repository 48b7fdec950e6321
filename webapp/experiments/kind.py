"""What the product knows of a kind of request. Each has a file in webapp/experiments/kinds/."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llm.judges import panel
from llm.records import Judged, Outcome, Pick
from webapp.experiments.models import Experiment, Request

Payload = Mapping[str, Any]


@dataclass(frozen=True)
class PersonChoice:
    """One person's choice. `pick` holds what was drawn where the person could not tell, or said that a clip is bad."""

    pick: Pick
    cannot_tell: bool = False
    broken: bool = False


@dataclass(frozen=True)
class Judgement:
    """What the experiment's judge is asked, and how an answer is read."""

    phase: str
    """The phase of an experiment that waits for people (webapp.experiments.progress)."""
    phase_text: str
    """The same in words, for the experimenter."""
    log_text: str
    """What the log says is wanted, with a place for the round."""
    build_judged: Callable[[Payload, Sequence[Outcome]], Judged]
    """The request as a judge is given it, of its payload and the outcomes of its candidates."""
    build_result: Callable[[Payload, PersonChoice], Any]
    """A choice as the request's result."""
    check_result: Callable[[Payload, Any], None]
    """Raises ValueError for what is no result, and for a candidate that was not shown."""
    pool_choices: Callable[[Payload, Sequence[str], Sequence[PersonChoice]], tuple[dict[str, Any], Any]]
    """(payload, the candidates that were shown, everybody's choices) -> (how they became one, the result)."""
    count_pairs: Callable[[Payload, Any], int]
    """Pairwise comparisons that a result says, as the ICPL paper counts them."""
    asks_worst: bool = False
    """The worst is asked for beside the best."""
    is_final: bool = False
    """The last choice of all, among the rounds' bests."""
    is_pair: bool = False
    """Which of two is better."""


@dataclass(frozen=True)
class Kind:
    """A kind of request that methods yield: who works on it, how its result is taken in, what pages say meanwhile."""

    name: str
    """Of its class in llm.records."""
    job: str
    """The kind of job that works on it; of a judgement only where a model judges."""
    executor: str
    """Its name in webapp.experiments.execute.EXECUTORS."""
    record_result: Callable[[Experiment, Request, Any], None]
    """Takes the result into the rows that pages read, in the transaction that answers the request."""
    restore_result: Callable[[Experiment, Request], None]
    """Puts those rows back where a result that was set aside counts again; nobody is told."""
    phase: str
    """What a round waits for while this is open, on the experimenter's page."""
    verb: str
    """What was done once it is answered; the page puts the seconds behind it."""
    step: str = "asking"
    """Which part of a round's wait this is: writing, training or asking (webapp.experiments.progress)."""
    asks_model: bool = True
    """Whether a language model may be asked on its behalf."""
    meaning_in_words: bool = False
    """Its meaning is in its words alone: another prompt is another question."""
    judgement: Judgement | None = None


def restore_nothing(experiment: Experiment, request: Request) -> None:
    """Nothing to restore."""


def check_shown(payload: Payload, named: Sequence[str | None]) -> None:
    """Raises ValueError for a candidate that was not shown."""
    for candidate in named:
        if candidate is not None and candidate not in payload["candidates"]:
            raise ValueError(f"candidate {candidate!r} was not shown; shown were {payload['candidates']}")


def pool_picks(shown: Sequence[str], said: Sequence[PersonChoice]) -> tuple[dict[str, Any], Pick]:
    """Scores and strengths with intervals, and one pick.

    People who could not tell are left out: what was drawn for them would be noise. Where nobody could, it is all there
    is.
    """
    told = [one for one in said if not one.cannot_tell] or said
    picks = [(one.pick, shown) for one in told]
    seen = [comparison for pick, names in picks for comparison in panel.comparisons(pick, names)]
    strength = panel.bradley_terry(seen, names=shown)
    return {"score": to_lists(panel.best_worst(picks)), "strength": to_lists(strength)}, panel.pool_picks(picks)


def to_lists(ratings: Mapping[str, panel.Rating]) -> dict[str, list[float]]:
    """Candidate id -> value, low, high."""
    return {key: [rating.value, rating.low, rating.high] for key, rating in ratings.items()}
