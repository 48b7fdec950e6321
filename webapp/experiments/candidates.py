"""Candidates by the ids that methods use, and their outcomes as methods and judges get them."""

from __future__ import annotations

from llm.records import Candidate as MethodCandidate
from llm.records import Outcome
from webapp.experiments.models import Candidate, Experiment, Request


def find_candidate(experiment: Experiment, key: str | None) -> Candidate | None:
    """The row of a candidate id, "<iteration>-<index>"."""
    if key is None:
        return None
    number, index = key.split("-")
    return Candidate.objects.get(iteration__experiment=experiment, iteration__number=number, index=index)


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


def set_status(experiment: Experiment, key: str, status: str) -> None:
    number, index = key.split("-")
    rows = Candidate.objects.filter(iteration__experiment=experiment, iteration__number=number, index=index)
    rows.update(status=status)


def set_tried_statuses(experiment: Experiment, request: Request) -> None:
    """Mark the candidates of an answered request as trained or failed."""
    for outcome in request.result or ():
        status = Candidate.Status.TRAINED if outcome["ok"] else Candidate.Status.FAILED
        set_status(experiment, outcome["candidate"]["id"], status)
