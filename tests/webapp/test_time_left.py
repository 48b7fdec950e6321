"""The time left over recorded experiments: what workers reported, second by second, and what pages would have said.

A recording is made by `python -m benchmarks.time_left --trace FILE`; its name says task and load of the machine.
"""

import json
import statistics
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db.models import DateTimeField, Value
from django.utils import timezone

from tests.webapp import fake_workers
from webapp.experiments import courses, estimate_errors, progress, progress_state, promises
from webapp.experiments.execute.film import FilmingPace
from webapp.experiments.models import Iteration, Job, Request

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
RECORDINGS = sorted(Path(__file__).with_name("recordings").glob("*.json"))
K = 6

pytestmark = pytest.mark.django_db


def seconds(moment):
    return (moment - NOON).total_seconds()


class Replay:
    """An experiment whose jobs report what was recorded, under a clock of its own."""

    def __init__(self, monkeypatch, recording):
        task, _, state = recording.stem.partition("_")
        load = {"busy": 16.0, "quiet": 1.0}[state]
        self.now = NOON
        monkeypatch.setattr(timezone, "now", lambda: self.now)
        monkeypatch.setattr(progress_state, "Now", lambda: Value(self.now, DateTimeField()))
        monkeypatch.setattr("os.cpu_count", lambda: 2)
        monkeypatch.setattr("os.getloadavg", lambda: (load, load, load))
        self.row = fake_workers.create_experiment(task=task.capitalize(), judge="human", k=K, n=4, status="running")

    def change(self, number, kind, status, fraction, seconds_left):
        if kind == "write":
            Iteration.objects.get_or_create(experiment=self.row, number=number)
        step = 2 * number + (kind != "write")
        request, _ = Request.objects.get_or_create(
            experiment=self.row,
            step=step,
            defaults={
                "kind": "Write" if kind == "write" else "Train",
                "payload": {"iteration": number, "candidates": []},
                "fingerprint": "f",
            },
        )
        job, _ = Job.objects.get_or_create(
            experiment=self.row,
            request=request,
            kind=kind,
            percent=100 if kind == "film" else 0,
            defaults={"attempt": 1},
        )
        if kind == "film" and status == "running":  # by the recorded clips, at today's pace
            self.pace = FilmingPace(K, 2, seconds(self.now)) if job.status != "running" else self.pace
            seconds_left = self.pace.build_progress(round(K * (1 - (fraction or 0))), seconds(self.now))["seconds_left"]
        job.started_at = job.started_at or (self.now if status != "queued" else None)
        course = job.progress.get("course", [])
        if fraction is not None:
            course = courses.note_progress(course, (self.now - job.started_at).total_seconds(), fraction)
        job.status, job.progress = status, {"fraction": fraction, "seconds_left": seconds_left, "course": course}
        job.finished_at = self.now if status == "done" else None
        job.save()
        if status == "done" and kind != "train":
            Request.objects.filter(pk=request.pk).update(status="done", finished_at=self.now)

    def renew(self):
        for job in self.row.jobs.filter(status="running").select_related("request", "experiment"):
            if promises.is_due(job, self.now) and (promised := progress.promise_time_left(job)):
                Job.objects.filter(pk=job.pk).update(estimates=promised)

    def play(self, changes):
        waiting = list(changes)
        second = 0
        while waiting:
            while waiting and waiting[0][0] <= second:
                self.now = NOON + timedelta(seconds=waiting[0][0])
                self.change(*waiting.pop(0)[1:])
            self.now = NOON + timedelta(seconds=second)
            self.renew()
            second += 5


def read_waits(recording):
    """Every recorded round, as the first of an installation."""
    changes = json.loads(recording.read_text())
    for number in sorted({change[1] for change in changes}):
        begun = next(at for at, *change in changes if change[0] == number)
        yield number, [[at - begun, 1, *change[1:]] for at, *change in changes if change[0] == number]


FIRST_WAITS = [
    pytest.param(recording, wait, id=f"{recording.stem}-{number}", marks=pytest.mark.exhaustive if number > 1 else ())
    for recording in RECORDINGS
    for number, wait in read_waits(recording)
]


@pytest.mark.slow
@pytest.mark.parametrize(("recording", "changes"), FIRST_WAITS)
def test_a_first_wait_does_not_break_its_promise_soon(recording, changes, monkeypatch):
    replay = Replay(monkeypatch, recording)
    replay.play(changes)
    told = [promise for job in replay.row.jobs.all() for promise in promises.read_promises(job)]
    soon = NOON + timedelta(seconds=changes[-1][0] / 4)
    assert told and not any(promise.late for promise in told if promise.made_at < soon), told


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_first_waits_are_off_by_less_than_a_fifth(recording, monkeypatch):
    """Without the two rounds whose courses Prefine comes with."""
    errors = []
    for number, changes in read_waits(recording):
        if (number, recording.stem) not in ((1, "ant_quiet"), (1, "cartpole_quiet")):
            replay = Replay(monkeypatch, recording)
            replay.play(changes)
            errors.append(estimate_errors.build_report().error)
            replay.row.delete()
    assert errors and statistics.median(errors) < 0.2, errors


@pytest.mark.slow
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_pages_are_off_by_less_than_a_fifth(recording, monkeypatch):
    changes = json.loads(recording.read_text())
    replay = Replay(monkeypatch, recording)
    replay.play(changes)
    report = estimate_errors.build_report()
    told = [f"{row.stage} {row.count}: {row.error:.0%} ({row.bias:+.0%})" for row in report.rows]
    assert report.waits == changes[-1][1] and report.error < 0.2, told
