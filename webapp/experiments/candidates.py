"""Candidates by the ids that methods use, and their outcomes as methods and judges get them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from llm.records import Candidate as MethodCandidate
from llm.records import Outcome
from webapp.experiments.models import Candidate, Experiment, Request


def find_candidate(experiment: Experiment, key: str | None) -> Candidate | None:
    """The row of a candidate id, "<iteration>-<index>"."""
    if key is None:
        return None
    number, index = key.split("-")
    return Candidate.objects.get(iteration__experiment=experiment, iteration__number=number, index=index)


def save_candidates(experiment: Experiment, candidates: Iterable[MethodCandidate]) -> None:
    """Save those that have no row yet. Their rounds exist, and the caller holds the experiment's lock."""
    for candidate in candidates:
        number, index = candidate.id.split("-")
        iteration = experiment.iterations.get(number=number)
        if not iteration.candidates.filter(index=index).exists():
            parent = find_candidate(experiment, candidate.parent)
            values = {"source": candidate.source, "thought": candidate.thought, "parent": parent}
            Candidate.objects.create(iteration=iteration, index=int(index), **values)


def read_outcome(experiment: Experiment, key: str) -> Outcome:
    """A candidate and the result of its training, as methods and judges get them.

    The reward trace comes without the row that is the hidden metric, because prompts show the trace.
    """
    row = find_candidate(experiment, key)
    assert row is not None
    hidden = experiment.task_info.metric_row
    return Outcome(
        candidate=MethodCandidate(key, row.source, row.parent.key if row.parent else None, row.thought),
        ok=row.status == Candidate.Status.TRAINED,
        reason=row.reason,
        trace={name: values for name, values in row.trace.items() if name != hidden},
        metric_trace=row.metric_trace,
        rts=row.rts,
    )


def group_tied(picked: Iterable[Candidate | None], shown: Collection[Candidate]) -> list[list[str]]:
    """The ids of candidates with the same RTS, for each score of a picked one that another has, too."""
    scores = dict.fromkeys(row.rts for row in picked if row and row.rts is not None)
    groups = [[row.key for row in shown if row.rts == score] for score in scores]
    return [keys for keys in groups if len(keys) > 1]


def describe_ties(groups: Iterable[Iterable[str]]) -> str:
    """ "Tied in score: 1-1, 1-2; 1-3, 1-4."; empty without ties."""
    words = "; ".join(", ".join(keys) for keys in groups)
    return f"Tied in score: {words}." if words else ""


def describe_ties_of(request: Request, *picked: Candidate | None) -> str:
    """The ties of these with others of a judgement; empty if the judge does not go by scores."""
    if not request.experiment.judge_info.uses_metric:
        return ""
    return describe_ties(group_tied(picked, find_candidates(request.experiment, request.payload["candidates"])))


def find_candidates(experiment: Experiment, keys: Collection[str]) -> list[Candidate]:
    rows = Candidate.objects.filter(iteration__experiment=experiment).select_related("iteration")
    rows = rows.defer("source", "trace", "metric_trace")
    return [row for row in rows if row.key in keys]


def describe_answers(candidate: Candidate) -> str:
    """From what a policy learned its reward, in place of its program, or beyond it where it has one. Answers to pairs
    that were skipped are none.
    """
    tried = candidate.status in (Candidate.Status.TRAINED, Candidate.Status.FAILED)
    answers = candidate.sessions[-1]["labels"] if candidate.sessions else 0
    if not tried:
        so_far = f", so far from {answers}" if answers else ""
        if candidate.source:
            return f"Its reward is its program, and what it learns from answers about pairs of its segments{so_far}."
        return f"No program: this policy learns its reward from answers about pairs of its segments{so_far}."
    if not answers:
        alone = "Its program alone" if candidate.source else "No program"
        return f"{alone}, and no answer about a pair: the training ended before a reward was learned."
    count = f"{answers:,} answer{'' if answers == 1 else 's'}"
    if candidate.source:
        return f"Its reward is its program, and what it learned from {count} about pairs of its segments."
    return f"No program: this policy learned its reward from {count} about pairs of its segments."


def set_status(experiment: Experiment, key: str, status: str) -> None:
    number, index = key.split("-")
    rows = Candidate.objects.filter(iteration__experiment=experiment, iteration__number=number, index=index)
    rows.update(status=status)


def set_tried_statuses(experiment: Experiment, request: Request) -> None:
    """Mark the candidates of an answered request as trained or failed."""
    for outcome in request.result or ():
        status = Candidate.Status.TRAINED if outcome["ok"] else Candidate.Status.FAILED
        set_status(experiment, outcome["candidate"]["id"], status)
