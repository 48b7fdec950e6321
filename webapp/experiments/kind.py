"""The interface of a kind of request. Each kind is a file in webapp/experiments/kinds/."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llm.judges import panel
from llm.records import Judged, Outcome, Pick
from webapp.experiments.models import Experiment, Job, Request

Payload = Mapping[str, Any]


@dataclass(frozen=True)
class PersonChoice:
    """One person's choice. If the person could not tell or a clip was broken, `pick` was drawn at random."""

    pick: Pick
    cannot_tell: bool = False
    broken: bool = False

    @property
    def undecided(self) -> str:
        """What it is where it names nobody: one of llm.records.ANSWERS; else empty."""
        return "" if not self.cannot_tell else "skip" if self.broken else "equal"


@dataclass(frozen=True)
class Judgement:
    """A kind of request that the experiment's judge answers."""

    phase: str
    """The phase of an experiment that waits for people to answer (webapp.experiments.progress)."""
    phase_text: str
    """The phase in words, for experimenters."""
    log_text: str
    """The log's text when it begins to wait, with a place for the round."""
    build_judged: Callable[[Payload, Sequence[Outcome]], Judged]
    """(payload, outcomes of its candidates) -> the request as judges get it."""
    build_result: Callable[[Payload, PersonChoice], Any]
    """(payload, a person's choice) -> the request's result."""
    check_result: Callable[[Payload, Any], None]
    """(payload, result): raises ValueError for an invalid result or a candidate that was not shown."""
    pool_choices: Callable[[Payload, Sequence[str], Sequence[PersonChoice]], tuple[dict[str, Any], Any]]
    """(payload, candidates shown, choices of a panel) -> (statistics for `Request.pooled`, the result)."""
    count_pairs: Callable[[Payload, Any], int]
    """(payload, result) -> pairwise comparisons in the result, as the ICPL paper counts them."""
    asks_worst: bool = False
    """Whether the worst is asked for, too."""
    is_final: bool = False
    """Whether it chooses the winner among the rounds' bests."""
    is_pair: bool = False
    """Whether it compares two."""


@dataclass(frozen=True)
class Kind:
    """A kind of request that methods yield: which job answers it, how its result is saved, the words of pages."""

    name: str
    """The name of its class in llm.records."""
    job: str
    """The kind of job that works on it; for a judgement only if a model judges."""
    executor: str
    """Its name in webapp.experiments.execute.EXECUTORS."""
    record_result: Callable[[Experiment, Request, Any], None]
    """Saves the result in the rows that pages read, in the transaction that answers the request."""
    restore_result: Callable[[Experiment, Request], None]
    """Restores those rows when a result that was set aside is taken over; emits no event."""
    phase: str
    """What an open request of this kind waits for, on experimenters' pages."""
    verb: str
    """What was done, on experimenters' pages; the seconds follow."""
    step: str = "asking"
    """The part of a round's wait: writing, training or asking (webapp.experiments.progress)."""
    asks_model: bool = True
    """Whether a language model may be asked to answer it."""
    find_role: Callable[[Experiment, Payload], str] = lambda experiment, payload: ""
    """(experiment, payload) -> the role of the model that is asked (llm.records.ROLES); empty if none is asked."""
    meaning_in_words: bool = False
    """Whether another prompt makes it another request, so that answers are taken over only for equal words."""
    judgement: Judgement | None = None


def restore_nothing(experiment: Experiment, request: Request) -> None:
    """Nothing to restore."""


def make_judged_kind(
    name: str,
    judgement: Judgement,
    record_result: Callable[[Experiment, Request, Any], None],
    restore_result: Callable[[Experiment, Request], None] = restore_nothing,
) -> Kind:
    """A kind that the experiment's judge answers."""
    return Kind(
        name=name,
        job=Job.Kind.ASK,
        executor="judge",
        record_result=record_result,
        restore_result=restore_result,
        phase="picking",
        verb="picked",
        find_role=find_judging_role,
        judgement=judgement,
    )


def find_judging_role(experiment: Experiment, payload: Payload) -> str:
    if not experiment.judge_info.asks_model:
        return ""
    return "vision" if experiment.judge_frames else "judge"


def check_shown(payload: Payload, named: Sequence[str | None]) -> None:
    """Raises ValueError for a candidate that was not shown."""
    for candidate in named:
        if candidate is not None and candidate not in payload["candidates"]:
            raise ValueError(f"candidate {candidate!r} was not shown; shown were {payload['candidates']}")


def pool_picks(shown: Sequence[str], choices: Sequence[PersonChoice]) -> tuple[dict[str, Any], Pick]:
    """Scores and strengths with intervals, and one pick.

    Random picks of people who could not tell are left out, unless there are no others.
    """
    decided = [choice for choice in choices if not choice.cannot_tell] or choices
    picks = [(choice.pick, shown) for choice in decided]
    seen = [comparison for pick, names in picks for comparison in panel.list_comparisons(pick, names)]
    strength = panel.bradley_terry(seen, names=shown)
    return {"score": to_lists(panel.score_best_worst(picks)), "strength": to_lists(strength)}, panel.pool_picks(picks)


def to_lists(ratings: Mapping[str, panel.Rating]) -> dict[str, list[float]]:
    """Candidate id -> value, low, high."""
    return {key: [rating.value, rating.low, rating.high] for key, rating in ratings.items()}
