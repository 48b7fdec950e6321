"""The answers of an experiment, also of one whose method's flow has changed since: what fits is taken over into today's
flow, all else is set aside.

Nothing is deleted. A row that is set aside keeps its answer, its calls, its votes and its films. An id names one
program for good, so candidates that are written again get numbers of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Max, Q

from llm.records import TRIED, Train, Write, fingerprint, meaning, payload
from llm.records import Request as Asked
from llm.records import Run as Tested
from llm.replay import Saved
from webapp.experiments import jobs, request_results
from webapp.experiments.candidates import set_status
from webapp.experiments.kinds import KINDS, choose, write
from webapp.experiments.models import Candidate, Experiment, Request

REWRITTEN = "Today's flow tries what was written here in another way; it was written anew."


def read_answered(experiment: Experiment) -> list[Saved]:
    """The answered requests, as a replay is fed them."""
    return [to_saved(row) for row in experiment.requests.filter(status=Request.Status.DONE)]


def read_set_aside(experiment: Experiment) -> list[Saved]:
    """The answers of an earlier flow that today's has no use for."""
    rows = experiment.requests.filter(status=Request.Status.ASIDE).exclude(finished_at=None)
    return [to_saved(row) for row in rows]


def to_saved(request: Request) -> Saved:
    """The row as a replay is fed it."""
    about = meaning(request.kind, request.payload)
    where = (request.step, request.slot, request.kind, request.fingerprint)
    return Saved(*where, request.result, about, request.version)


class Pool:
    """The requests of an earlier flow that an experiment has not taken over yet, in their order."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.rows = list(experiment.requests.filter(status=Request.Status.ASIDE, error=""))

    def take_over(self, step: int, slot: int, asked: Asked) -> Saved | None:
        """The answer of a row with the meaning of what the flow asks for here. The row moves here; where it had no
        answer yet, it is open again.
        """
        row = next((row for row in self.rows if self._fits(row, asked)), None)
        if row is None:
            return None
        self.rows.remove(row)
        row.step, row.slot = step, slot
        row.status = Request.Status.DONE if row.finished_at else Request.Status.OPEN
        row.save(update_fields=["step", "slot", "status"])
        if not row.finished_at:
            return None
        request_results.restore(self.experiment, row)
        return to_saved(row)

    def _fits(self, row: Request, asked: Asked) -> bool:
        kind = type(asked).__name__
        if row.kind != kind or meaning(kind, row.payload) != meaning(kind, payload(asked)):
            return False
        return not KINDS[kind].meaning_in_words or row.fingerprint == fingerprint(asked, self.experiment.options)

    def rewrite_candidates(self, asked: Asked) -> bool:
        """Have candidates written again that the flow is about to try, and that were tried in another way. True where
        there were such: everything from their writing on is set aside again, and the flow begins again there.
        """
        if not isinstance(asked, Train | Tested):
            return False
        ids = {candidate.id for candidate in asked.candidates}
        if not any(row.kind in TRIED and ids & set(_list_candidates(row)) for row in self.rows):
            return False
        live = list(self.experiment.requests.exclude(status=Request.Status.ASIDE))
        writings = [row for row in live if ids & set(write.list_written(row))]
        if not writings:
            return False
        Request.objects.filter(pk__in=[row.pk for row in writings]).update(error=REWRITTEN)
        first = min(row.step for row in writings)
        _set_aside(self.experiment, [row for row in live if row.step >= first])
        self.rows = list(self.experiment.requests.filter(status=Request.Status.ASIDE, error=""))
        return True


def _list_candidates(row: Request) -> list[str]:
    return [candidate["id"] for candidate in row.payload["candidates"]]


def set_aside_all(experiment: Experiment) -> None:
    """Begin the flow again: every answer waits to be taken over. The caller holds the experiment's lock."""
    _forget_failures(experiment)
    _set_aside(experiment, experiment.requests.exclude(status=Request.Status.ASIDE))
    blank: dict[str, Any] = {
        "best": None,
        "worst": None,
        "reason": "",
        "tags": [],
        "difference": "",
        "finished_at": None,
    }
    experiment.iterations.update(**blank, aside=True)


def _forget_failures(experiment: Experiment) -> None:
    """What failed is as if it had not been answered yet."""
    experiment.requests.filter(status=Request.Status.FAILED).update(error="", finished_at=None)


def _set_aside(experiment: Experiment, rows: Iterable[Request]) -> None:
    """With the candidates that the rows wrote, and without the work on what has no answer; films of what was answered
    are still made. A training keeps its folder wherever its row goes.
    """
    for row in rows:
        if row.status != Request.Status.DONE:
            jobs.drop(row)
        if row.kind in TRIED:
            row.folder = row.run_key.partition("/")[2]
        row.status = Request.Status.ASIDE
        row.save(update_fields=["folder", "status"])
        for key in write.list_written(row):
            set_status(experiment, key, Candidate.Status.ASIDE)


def set_aside_open(experiment: Experiment) -> None:
    """What is asked and not answered is not waited for any more, but for the choice of a winner."""
    _forget_failures(experiment)
    done_or_chosen = Q(status=Request.Status.DONE) | Q(status=Request.Status.OPEN, kind=choose.KIND.name)
    _set_aside(experiment, experiment.requests.exclude(done_or_chosen).exclude(status=Request.Status.ASIDE))
    begun = experiment.requests.exclude(status=Request.Status.ASIDE).values_list("payload__iteration", flat=True)
    experiment.iterations.exclude(number__in=[number for number in begun if number]).update(aside=True)


def build_payload(experiment: Experiment, asked: Asked) -> dict[str, Any]:
    """The request as its new row holds it: candidates get numbers that no other of their round ever had."""
    body = payload(asked)
    if not isinstance(asked, Write):
        return body
    written = (
        write.find_requests(experiment).filter(payload__iteration=asked.iteration).values_list("payload", flat=True)
    )
    of_round = Candidate.objects.filter(iteration__experiment=experiment, iteration__number=asked.iteration)
    taken = {number for earlier in written for number in _get_numbers(earlier)}
    taken |= set(of_round.values_list("index", flat=True))
    return body if taken.isdisjoint(_get_numbers(body)) else body | {"first": 1 + max(taken)}


def _get_numbers(written: dict[str, Any]) -> range:
    first = written.get("first", 1)
    return range(first, first + written["count"])


def name_folder(experiment: Experiment, step: int, slot: int) -> str:
    """The training folder of a new row; empty where step and slot tell it, as no row has moved."""
    if not experiment.requests.exclude(folder="").exists():
        return ""
    return f"{experiment.public_id}-{step}-{slot}-{experiment.requests.count()}"


def list_bests(experiment: Experiment) -> list[str]:
    """What a judge chooses the winner among where the flow is broken off: the rounds' bests; where no round was judged,
    all that could be tried.
    """
    judged = experiment.iterations.exclude(best=None).select_related("best__iteration")
    found = [iteration.best.key for iteration in judged if iteration.best]
    tried = Candidate.objects.filter(iteration__experiment=experiment, status=Candidate.Status.TRAINED)
    return list(dict.fromkeys(found)) or [candidate.key for candidate in tried.select_related("iteration")]


def get_last_step(experiment: Experiment) -> int:
    """Of the flow, without what is set aside."""
    rows = experiment.requests.exclude(status=Request.Status.ASIDE)
    return int(rows.aggregate(last=Max("step", default=-1))["last"])
