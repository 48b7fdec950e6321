"""How far off the time left was that pages said: every stored estimate beside the time that the wait took."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Min

from llm.records import TRIED
from webapp.base.charts import Chart, Series
from webapp.experiments.job_kinds import MEASURED_KINDS
from webapp.experiments.models import Event, Job, Request
from webapp.experiments.promises import read_promises

REMEMBERED_JOBS = 400
SHORTEST_SECONDS = 10.0
"""Estimates with less than this left in truth are not judged: pages say "a few seconds" then."""
PARTS = 10
"""The parts of a wait that the figure tells apart."""
INTERRUPTIONS = ("paused", "failed", "cancelled")
"""Events after which a wait says nothing of the estimate."""


@dataclass(frozen=True)
class JudgedEstimate:
    stage: str
    task: str
    preset: str
    said: float
    """Seconds left, as pages said."""
    took: float
    """Seconds until the round was ready."""
    over: float
    """The share of the round's wait that was over."""

    @property
    def error(self) -> float:
        """The absolute error as a share of the truth."""
        return abs(self.said - self.took) / self.took


@dataclass(frozen=True)
class ErrorRow:
    """The estimates of one task and preset in one stage."""

    task: str
    preset: str
    stage: str
    count: int
    error: float
    """The median of the absolute errors, as a share of the truth."""
    bias: float
    """The median of the signed errors: above zero where pages said too much."""


@dataclass(frozen=True)
class ErrorReport:
    estimates: tuple[JudgedEstimate, ...]
    rows: tuple[ErrorRow, ...]
    waits: int
    """Rounds that these estimates were about."""

    @property
    def error(self) -> float | None:
        return statistics.median(one.error for one in self.estimates) if self.estimates else None

    @property
    def chart(self) -> Chart:
        """The median error by how much of the wait was over."""
        parts: dict[int, list[float]] = defaultdict(list)
        for one in self.estimates:
            parts[min(PARTS - 1, int(PARTS * one.over))].append(100 * one.error)
        found = sorted(parts)
        middles = tuple(100 * (part + 0.5) / PARTS for part in found)
        medians = tuple(statistics.median(parts[part]) for part in found)
        series = (Series("median error", middles, medians),)
        return Chart(
            "time-left", "Error of the time left", "wait that is over (%)", "error (%)", series, covers=(0, 20)
        )


def build_report() -> ErrorReport:
    """The newest estimates whose waits have ended without an interruption."""
    stopped = Event.objects.filter(kind__in=INTERRUPTIONS).values("experiment")
    jobs = Job.objects.filter(status=Job.Status.DONE).exclude(estimates=[]).exclude(experiment__in=stopped)
    newest = list(jobs.select_related("experiment", "request").order_by("-pk")[:REMEMBERED_JOBS])
    ready, begun = _read_ends(newest), _read_starts(newest)
    judged, waits = list[JudgedEstimate](), set[tuple[int, int]]()
    for job in newest:
        end = _find_end(job, ready)
        start = begun.get(_get_round(job))
        if end and start:
            found = _judge_estimates(job, start, end)
            judged += found
            waits |= {_get_round(job)} if found else set()
    return ErrorReport(tuple(judged), tuple(_group(judged)), len(waits))


def _get_round(job: Job) -> tuple[int, int]:
    return job.experiment_id, job.request.payload["iteration"] if job.request else 0


def _read_ends(jobs: Iterable[Job]) -> dict[tuple[int, int], list[tuple[int, datetime]]]:
    """By round: the step of each of its trainings, and when its videos were ready."""
    ends: dict[tuple[int, int], list[tuple[int, datetime]]] = defaultdict(list)
    tried = Request.objects.filter(
        experiment__in={job.experiment_id for job in jobs}, kind__in=TRIED, status=Request.Status.DONE
    )
    rows = tried.order_by("step").values_list("experiment", "payload__iteration", "step", "finished_at")
    for experiment, number, step, moment in rows:
        if moment:
            ends[experiment, number].append((step, moment))
    return ends


def _read_starts(jobs: Iterable[Job]) -> dict[tuple[int, int], datetime]:
    """By round: when its first request was made."""
    requests = Request.objects.filter(experiment__in={job.experiment_id for job in jobs})
    rows = requests.order_by().values_list("experiment", "payload__iteration").annotate(begun=Min("created_at"))
    return {(experiment, number): begun for experiment, number, begun in rows}


def _find_end(job: Job, ends: dict[tuple[int, int], list[tuple[int, datetime]]]) -> datetime | None:
    if job.request is None:
        return None
    return next((moment for step, moment in ends.get(_get_round(job), ()) if step >= job.request.step), None)


def _judge_estimates(job: Job, start: datetime, end: datetime) -> list[JudgedEstimate]:
    whole, found = (end - start).total_seconds(), []
    for promise in read_promises(job):
        took = (end - promise.made_at).total_seconds()
        if took >= SHORTEST_SECONDS:
            row = job.experiment
            said = max(0.0, promise.seconds)
            found.append(JudgedEstimate(job.info.step, row.task, row.preset, said, took, 1 - min(1.0, took / whole)))
    return found


def _group(judged: Iterable[JudgedEstimate]) -> list[ErrorRow]:
    groups: dict[tuple[str, str, str], list[JudgedEstimate]] = defaultdict(list)
    for one in judged:
        groups[one.task, one.preset, one.stage].append(one)
    stages = list(MEASURED_KINDS)
    return [
        ErrorRow(
            *key,
            count=len(found),
            error=statistics.median(one.error for one in found),
            bias=statistics.median((one.said - one.took) / one.took for one in found),
        )
        for key, found in sorted(groups.items(), key=lambda group: (*group[0][:2], stages.index(group[0][2])))
    ]
