"""On a full disk everything waits, says so, is whole, and goes on by itself once there is space."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest

from tests.webapp.fake_workers import do_work, find_job, start_experiment
from tests.webapp.servers import ROOT, clean_environment, empty_database, static_files
from tests.webapp.small_disks import SmallDisk
from webapp.archive import tasks
from webapp.archive.models import Export
from webapp.base.local_store import LocalStore
from webapp.base.store_interface import DiskFull
from webapp.experiments import held_up
from webapp.experiments.models import Candidate, Clip, Job
from webapp.experiments.progress import read_progress
from webapp.experiments.tasks import run_job
from webapp.studio.words import describe_wait_left

pytestmark = pytest.mark.slow

TINY = {"iterations": 10, "worlds": 16}


def list_files(disk: SmallDisk) -> list[str]:
    return sorted(path.name for path in disk.path.rglob("*") if path.is_file() and path.name != "filler")


def test_a_store_on_a_full_disk_has_the_old_file_or_the_new_one(small_disk, settings, tmp_path):
    settings.DATA_DIR = small_disk.path
    store, source = LocalStore(), tmp_path / "source"
    source.write_bytes(b"new" * 5000)
    store.publish("clips/a.mp4", b"old")
    small_disk.fill()
    with source.open("rb") as file:
        for new in (b"new" * 5000, source, file):
            with pytest.raises(DiskFull, match=r"no space is left on the disk of .*clips"):
                store.publish("clips/a.mp4", new)
    with pytest.raises(DiskFull):
        store.publish("votes/b.mp4", b"x" * 5000)
    with pytest.raises(DiskFull):
        store.fetch("clips/a.mp4", small_disk.path / "copies" / "a.mp4")
    assert list_files(small_disk) == ["a.mp4"]
    small_disk.free()
    store.publish("clips/a.mp4", source)
    assert store.size("clips/a.mp4") == 15_000


@pytest.mark.django_db(transaction=True)
class TestJobs:
    @pytest.fixture(autouse=True)
    def on_a_small_disk(self, small_disk: SmallDisk, settings: Any) -> None:
        settings.DATA_DIR = small_disk.path

    def check_waiting(self, job: Job) -> None:
        job.refresh_from_db()
        assert (job.status, job.strikes) == ("queued", 0) and job.error.startswith(Job.NO_SPACE)
        job.experiment.refresh_from_db()
        assert job.experiment.status in ("running", "finished") and job.experiment.error == ""

    @pytest.mark.usefixtures("short_trainings")
    @pytest.mark.parametrize(
        "left",
        [
            pytest.param(0, id="at its start"),
            pytest.param(64 << 10, id="at its first checkpoint", marks=pytest.mark.exhaustive),
        ],
    )
    def test_a_training_waits_and_goes_on(
        self, small_disk: SmallDisk, settings: Any, caplog: Any, monkeypatch: Any, left: int
    ) -> None:
        monkeypatch.setattr(held_up, "LASTING", timedelta(0))
        settings.ATTEMPTS = 1
        row = start_experiment(k=2, n=1, overrides=TINY)
        do_work(row, until="Train")
        small_disk.fill(left)
        job = find_job(row, "train")
        for _ in range(settings.ATTEMPTS + 1):
            run_job(job.pk)
            self.check_waiting(job)
            assert "must be put right first" in describe_wait_left(read_progress(row))  # what a participant reads
        assert "train" in caplog.text and Job.NO_SPACE in caplog.text
        assert not [name for name in list_files(small_disk) if name.endswith((".tmp", ".part", "result.json"))]
        small_disk.free()
        run_job(job.pk)
        job.refresh_from_db()
        assert (job.status, job.error) == ("done", "")
        assert Candidate.objects.filter(status="trained").count() == 2
        do_work(row)
        small_disk.fill(left)
        films = find_job(row, "film", percent=100)
        run_job(films.pk)
        self.check_waiting(films)
        small_disk.free()
        run_job(films.pk)
        assert {clip.status for clip in Clip.objects.filter(percent=100)} == {"ready"}

    def test_an_export_waits_and_goes_on(self, small_disk: SmallDisk) -> None:
        row = start_experiment(k=2, n=1)
        export = Export.objects.create(by="ada", experiments=[row.pk])
        small_disk.fill()
        assert not tasks.carry_out_task("export", export.pk)
        assert Export.objects.get().status == "queued"
        small_disk.free()
        assert tasks.carry_out_task("export", export.pk)
        assert Export.objects.get().status == "done"


SITE = """
import os
import sys
from pathlib import Path
from django.test import Client
from django.urls import reverse
from tests.webapp import rows
from tests.webapp.small_disks import SmallDisk
from webapp.experiments.models import Request
from webapp.review.models import Vote
from webapp.review.screenings import find_screening

disk = SmallDisk.__new__(SmallDisk)
disk.path = Path(sys.argv[1])
person = rows.participant()
rows.create_round(person)
rows.open_judgement(person)
shown = find_screening(Request.objects.get(kind="Judge"), person)
client = Client(raise_request_exception=False)
def vote():
    answer = client.post(reverse("vote", args=[person.token]), {"screening": shown.token, "best": "A", "worst": "B"})
    page = answer.content.decode()
    return answer.status_code, "Please wait a moment" in page and "press the button again" in page, Vote.objects.count()
disk.fill()
print(vote())
page = client.get(person.get_absolute_url())
print(page.status_code in (200, 503))
disk.free()
print(vote())
"""


def test_a_choice_is_stored_or_refused_in_words(small_disk, tmp_path):
    """The database is on the full disk, too."""
    empty_database(small_disk.path)
    static_files(tmp_path)
    own = {"PREFINE_DATA": str(small_disk.path), "PREFINE_STATIC": str(tmp_path / "static")}
    code = f"import django\ndjango.setup()\n{SITE}"
    done = subprocess.run(
        [sys.executable, "-c", code, str(small_disk.path)],
        cwd=ROOT,
        env={**clean_environment(), **own, "DJANGO_SETTINGS_MODULE": "webapp.settings", "PREFINE_HOSTS": "testserver"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == ["(503, True, 0)", "True", "(302, False, 1)"], done.stdout + done.stderr


def run_on_full_disk(disk: SmallDisk, code: str) -> list[str]:
    """What the code prints, among rows of a database on this disk, with a lease of two seconds."""
    empty_database(disk.path)
    done = subprocess.run(
        [sys.executable, "-c", f"{JOB}{code}", str(disk.path)],
        cwd=ROOT,
        env={
            **clean_environment(),
            "PREFINE_DATA": str(disk.path),
            "PREFINE_LEASE_SECONDS": "2",
            "DJANGO_SETTINGS_MODULE": "webapp.settings",
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


JOB = """
import sys, threading, time
from pathlib import Path
import django
django.setup()
from django.db import OperationalError, connection
from tests.webapp import fake_workers
from tests.webapp.small_disks import SmallDisk
from webapp.base.store_interface import DiskFull
from webapp.experiments import leases, loop
from webapp.experiments.models import Job

disk = SmallDisk.__new__(SmallDisk)
disk.path = Path(sys.argv[1])
def claim():
    row = fake_workers.create_experiment()
    loop.start(row)
    return leases.claim(fake_workers.find_job(row, "advance").pk)
def fill():
    with connection.cursor() as cursor:  # else a full disk has room in it
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    disk.fill()
"""
GIVEN_BACK = """
for full in ("the worker", "the database"):
    lease = claim()
    fill()
    threading.Timer(6, disk.free).start()  # later than a lease ends
    with lease:
        if full == "the worker":
            raise DiskFull("no space is left")
        with lease.settle() as experiment:
            loop.advance(experiment)
    job = Job.objects.get(pk=lease.job.pk)
    print(full, job.status, job.strikes, bool(job.held_up_at))
"""
HELD = """
lease = claim()
leases.requeue_abandoned()
fill()
for _ in range(4):  # longer than a lease
    time.sleep(1)
    lease.beat()
    try:
        leases.requeue_abandoned()
    except OperationalError:
        pass
disk.free()
print(leases.requeue_abandoned(), Job.objects.get(pk=lease.job.pk).strikes)
lease.renew()
"""


def test_a_job_is_given_back_without_a_strike_once_there_is_space(small_disk):
    given_back = [f"the {whose} queued 0 True" for whose in ("worker", "database")]
    assert run_on_full_disk(small_disk, GIVEN_BACK) == given_back


def test_a_heartbeat_that_cannot_be_written_is_not_missed(small_disk):
    assert run_on_full_disk(small_disk, HELD) == ["0 0"]
