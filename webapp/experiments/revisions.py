"""An experiment's answers after its method's flow changed: those that fit are taken over, the rest are set aside.

Nothing is deleted. A row that is set aside keeps its answer, its calls, its votes and its films. A candidate's id is
never used again, so candidates that are written again get new numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Max, Q

from llm.records import TRIED, Train, Write, describe_meaning, fingerprint_request, make_payload
from llm.records import Request as Asked
from llm.records import Run as Tested
from llm.replay import Saved
from webapp.experiments import jobs, request_results
from webapp.experiments.candidates import set_status
from webapp.experiments.kinds import KINDS, choose, write
from webapp.experiments.models import Candidate, Experiment, Request

REWRITTEN = "Today's flow tries what was written here in another way; it was written again."


def read_answered(experiment: Experiment) -> list[Saved]:
    """The answered requests, for a record."""
    return [build_saved(row) for row in experiment.requests.filter(status=Request.Status.DONE)]


def read_answers(experiment: Experiment) -> list[Saved]:
    """The answered requests without their meanings, for a replay.

    Meanings are read from prompts, which are most of what an experiment holds; most replays need none of them.
    """
    done = experiment.requests.filter(status=Request.Status.DONE)
    columns = ("step", "slot", "kind", "fingerprint", "result", "version")
    return [
        Saved(step, slot, kind, fingerprint, result, version=version)
        for step, slot, kind, fingerprint, result, version in done.values_list(*columns)
    ]


class MeaningReader:
    """Reads what the answers that `read_answers` gave are about: all at the first that is asked for."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.payloads: dict[tuple[int, int], Any] = {}

    def read(self, saved: Saved) -> dict[str, Any]:
        if not self.payloads:
            done = self.experiment.requests.filter(status=Request.Status.DONE)
            rows = done.values_list("step", "slot", "payload")
            self.payloads = {(step, slot): asked for step, slot, asked in rows}
        return describe_meaning(saved.kind, self.payloads[saved.step, saved.position])


def read_set_aside(experiment: Experiment) -> list[Saved]:
    """The answers of an earlier flow that were not taken over."""
    rows = experiment.requests.filter(status=Request.Status.ASIDE).exclude(finished_at=None)
    return [build_saved(row) for row in rows]


def build_saved(request: Request) -> Saved:
    """An answered request, for a replay."""
    about = describe_meaning(request.kind, request.payload)
    where = (request.step, request.slot, request.kind, request.fingerprint)
    return Saved(*where, request.result, about, request.version)


class Pool:
    """The requests of an earlier flow that may still be taken over, in their order."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.rows = list(experiment.requests.filter(status=Request.Status.ASIDE, error=""))

    def take_over(self, step: int, slot: int, asked: Asked) -> Saved | None:
        """Move the row that means what the flow asks for to this step and slot, and return its answer.

        A row without an answer is opened again. None without an answer or such a row.
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
        return build_saved(row)

    def _fits(self, row: Request, asked: Asked) -> bool:
        kind = type(asked).__name__
        if row.kind != kind or describe_meaning(kind, row.payload) != describe_meaning(kind, make_payload(asked)):
            return False
        return not KINDS[kind].meaning_in_words or row.fingerprint == fingerprint_request(
            asked, self.experiment.options
        )

    def rewrite_candidates(self, asked: Asked) -> bool:
        """Have candidates written again if the flow is about to try them in another way than they were tried.

        True if there are such candidates: all requests from their writing on are then set aside.
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
    """Set all answers aside, to be taken over by another flow. The caller holds the experiment's lock."""
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
    """Make failed requests unanswered ones."""
    experiment.requests.filter(status=Request.Status.FAILED).update(error="", finished_at=None)


def _set_aside(experiment: Experiment, rows: Iterable[Request]) -> None:
    """Set requests aside, with the candidates that they wrote. Jobs of unanswered ones are cancelled; clips of answered
    ones are still filmed. A training keeps its folder if its row moves.
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
    """Set all unanswered requests aside, except the choice of the winner."""
    _forget_failures(experiment)
    done_or_chosen = Q(status=Request.Status.DONE) | Q(status=Request.Status.OPEN, kind=choose.KIND.name)
    _set_aside(experiment, experiment.requests.exclude(done_or_chosen).exclude(status=Request.Status.ASIDE))
    begun = experiment.requests.exclude(status=Request.Status.ASIDE).values_list("payload__iteration", flat=True)
    experiment.iterations.exclude(number__in=[number for number in begun if number]).update(aside=True)


def build_payload(experiment: Experiment, asked: Asked) -> dict[str, Any]:
    """The payload of a new row; candidates get numbers that were never used in their round."""
    body = make_payload(asked)
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
    """The training folder of a new row; empty, for the name from step and slot, if no row has moved."""
    if not experiment.requests.exclude(folder="").exists():
        return ""
    return f"{experiment.public_id}-{step}-{slot}-{experiment.requests.count()}"


def list_bests(experiment: Experiment) -> list[str]:
    """The candidates for the winner if the flow ends early: the rounds' bests, or else all that could be tried."""
    judged = experiment.iterations.exclude(best=None).select_related("best__iteration")
    found = [iteration.best.key for iteration in judged if iteration.best]
    tried = Candidate.objects.filter(iteration__experiment=experiment, status=Candidate.Status.TRAINED)
    return list(dict.fromkeys(found)) or [candidate.key for candidate in tried.select_related("iteration")]


def get_last_step(experiment: Experiment) -> int:
    """The last step of the current flow; -1 before the first."""
    rows = experiment.requests.exclude(status=Request.Status.ASIDE)
    return int(rows.aggregate(last=Max("step", default=-1))["last"])
