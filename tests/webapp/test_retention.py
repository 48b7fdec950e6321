"""The end of a study's data, and files without rows."""

import io
import json
import os
from contextlib import redirect_stdout
from datetime import date, timedelta
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp import bench_rows, finished_study, rows
from webapp.archive import orphan_files, retention
from webapp.archive.models import Erasure, Export
from webapp.audit.models import Entry
from webapp.base.store import store
from webapp.experiments.models import Clip, Experiment
from webapp.problems.models import Attachment, Problem
from webapp.studies.models import Participant, Recruit, Study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(autouse=True)
def fixed_time(monkeypatch):
    """Days are counted here: none ends in the middle of a test."""
    moment = timezone.now().replace(hour=12)
    monkeypatch.setattr(timezone, "now", lambda: moment)


def closed(days_ago, **values):
    person = rows.participant(rows.study(**{"retention_days": 100, **values}))
    rows.open_training(person)
    then = timezone.now() - timedelta(days=days_ago)
    Study.objects.update(status="closed", closed_at=then)
    Participant.objects.update(instructed_at=then)
    return person


class TestRetention:
    def test_is_due_so_many_days_after_closing(self):
        study = closed(10).study
        study.refresh_from_db()
        assert retention.find_due_day(study) == timezone.localdate() + timedelta(days=90)
        assert retention.list_ending_soon() == [] and retention.list_overdue() == []

    @pytest.mark.parametrize("change", [{"retention_days": None}, {"status": "open"}, {"deleted_at": timezone.now()}])
    def test_is_not_due(self, change):
        study = closed(1000).study
        Study.objects.update(**change)
        study.refresh_from_db()
        assert retention.find_due_day(study) is None and retention.list_overdue() == []
        assert retention.expire(study).total == 0 and Participant.objects.get().deleted_at is None

    def test_who_goes_on_after_the_close_is_not_erased_midway(self):
        person = closed(10, retention_days=3)
        assert retention.list_overdue() == [] and len(retention.list_ending_soon()) == 1
        assert retention.list_ending_soon()[0].on == timezone.localdate() + timedelta(days=20), (
            "a month after the close"
        )
        Participant.objects.update(practised_at=timezone.now() - timedelta(days=2))
        assert retention.list_ending_soon()[0].on == timezone.localdate() + timedelta(days=28), (
            "and after the last answer"
        )
        Participant.objects.update(outcome="finished")
        assert retention.list_ending_soon()[0].on == timezone.localdate() + timedelta(days=1), (
            "who is through is not inside"
        )
        Participant.objects.update(outcome="", practised_at=None, instructed_at=timezone.now() - timedelta(days=31))
        Study.objects.update(closed_at=timezone.now() - timedelta(days=31))
        assert retention.list_overdue() == [person.study], "who never comes back keeps nothing for ever"

    def test_a_period_longer_than_the_calendar_breaks_no_page(self):
        closed(10, retention_days=2**31 - 1)
        assert retention.list_ending_soon() == []

    def test_counts_again_after_a_study_was_opened_again(self):
        study = closed(10).study
        Study.objects.update(deleted_at=timezone.now() - timedelta(days=11))
        study.refresh_from_db()
        assert retention.find_due_day(study) == timezone.localdate() + timedelta(days=90)
        assert [due.study for due in retention.find_ending(date.max)] == [study]

    def test_is_announced_on_every_page_of_the_bench(self, client):
        closed(95)
        client.force_login(bench_rows.create_staff())
        for address in (reverse("bench:index"), reverse("votes:index"), reverse("archive:index")):
            page = client.get(address).content.decode()
            assert "in 5 days" in page and "Robots that learn to walk" in page
        assert "in 5 days" not in Client().get("/").content.decode()

    def test_the_reaper_carries_it_out(self):
        person = closed(100)
        call_command("reaper", "--once")
        study = Study.objects.get()
        assert study.deleted_at and study.title and study.arms.count() == 1
        assert not Experiment.objects.exists() and not Recruit.objects.exists()
        assert person.token not in finished_study.dump_database() and "P07" not in finished_study.dump_database(
            without=("audit.Entry",)
        )
        kept = Erasure.objects.get()
        assert kept.cause == "retention" and kept.people == 1
        assert kept.aggregate["consented"] == 1 and kept.aggregate["arms"][0]["method"] == "icpl"
        entry = Entry.objects.get(action="deleted a study's data")
        assert entry.actor == "system" and entry.detail["people"] == 1
        assert retention.list_overdue() == []

    def test_what_fails_is_told_and_stops_nothing_else(self, data, monkeypatch, caplog):
        broken, fine = closed(100).study, closed(200).study
        expire = retention.expire

        def fails(study):
            if study == broken:
                raise OperationalError("the disk is full")
            return expire(study)

        monkeypatch.setattr(retention, "expire", fails)
        retention.tick()
        assert list(Study.objects.filter(deleted_at=None)) == [broken]
        assert f"deleting the data of study {broken.pk}" in caplog.text and "the disk is full" in caplog.text
        assert fine in Study.objects.exclude(deleted_at=None)

    def test_the_aggregate_names_nobody(self):
        made = finished_study.copy_finished_study()
        said = json.dumps(retention.aggregate(made.study))
        for secret in finished_study.secrets_of(made.study) | {"Person-", finished_study.REASON}:
            assert secret not in said
        numbers = json.loads(said)
        assert numbers["invited"] == 4 and numbers["outcomes"] == {"finished": 2, "on the way": 1, "withdrawn": 1}
        assert numbers["votes"] == 6 and numbers["arms"][0]["finished experiments"] == 2
        assert numbers["tokens"]["prompt"] > 0 and numbers["arms"][0]["mean score of the winners"] > 0

    def test_takes_the_ids_of_evaluators_along(self):
        made = finished_study.copy_finished_study()
        Study.objects.update(status="closed", closed_at=timezone.now())
        finished_study.move_into_past(5000)
        retention.expire(made.study)
        assert finished_study.VOTER not in finished_study.dump_database() and made.poll.evaluators.count() == 3
        assert finished_study.EXTERNAL not in finished_study.dump_database()

    def test_a_dry_run_says_and_deletes_nothing(self):
        closed(100)
        before = finished_study.dump_database()
        said = io.StringIO()
        call_command("retention", "--dry-run", stdout=said)
        assert "Would delete the data of 1 people: Robots that learn to walk" in said.getvalue()
        assert finished_study.dump_database() == before
        with redirect_stdout(io.StringIO()):
            call_command("retention", stdout=said)
        assert "Deleted the data of 1 people" in said.getvalue() and Study.objects.get().deleted_at

    def test_exports_do_not_stay(self, data):
        study = rows.study()
        made = [
            Export.objects.create(study=study, by="ada", status="done", finished_at=timezone.now()) for _ in range(2)
        ]
        for export in made:
            store.publish(export.key, b"zip")
        Export.objects.filter(pk=made[0].pk).update(finished_at=timezone.now() - timedelta(days=8))
        retention.tick()
        assert list(Export.objects.all()) == [made[1]]
        assert [store.size(export.key) for export in made] == [None, 3]


class TestLeftovers:
    def test_a_file_that_an_import_put_there_meanwhile_stays(self, settings, monkeypatch):
        clips = settings.DATA_DIR / "media" / "clips"
        clips.mkdir(parents=True)
        old, new = (clips / f"00000000-0000-4000-8000-00000000000{number}.mp4" for number in range(2))
        for path in (old, new):
            path.write_text("killed import")
            os.utime(path, (0, 0))
        rename = Path.rename

        def put_again(path, target):
            if path == new:
                path.write_text("tried again")
            return rename(path, target)

        monkeypatch.setattr(Path, "rename", put_again)
        assert orphan_files.delete_orphans() == [f"clips/{path.name}" for path in (old, new)]
        assert [path.name for path in clips.iterdir()] == [new.name] and new.read_text() == "tried again"

    def test_files_of_rows_that_are_gone(self, data, settings, monkeypatch):
        person = rows.participant()
        rows.create_round(person)
        clip = Clip.objects.first()
        kept = settings.DATA_DIR / "media" / clip.video
        orphan = kept.with_name("00000000-0000-4000-8000-000000000000.mp4")
        figure = settings.DATA_DIR / "media" / "problems" / "00000000-0000-4000-8000-000000000000.png"
        problem = Problem.objects.create(name="sum-of-two", title="Sum", form="program", statement="Add two numbers.")
        used = Attachment.objects.create(problem=problem, file=SimpleUploadedFile("figure.tar.gz2", b"x"))
        run = data / "runs" / "00000000-0000-4000-8000-000000000000-3"
        waiting = settings.DATA_DIR / "media" / "problem_sets" / "00000000-0000-4000-8000-000000000000.zip"
        waiting.parent.mkdir()
        stranger = data / "runs" / "notes.txt"
        run.mkdir(parents=True)
        for path in (orphan, figure, waiting, run / "job.json", stranger):
            path.write_text("x")
        assert orphan_files.delete_orphans() == []  # somebody may be about to commit their rows
        monkeypatch.setattr(orphan_files, "OLD_SECONDS", -1)
        names = [f"clips/{orphan.name}", f"problems/{figure.name}", f"runs/{run.name}", f"problem_sets/{waiting.name}"]
        assert orphan_files.delete_orphans(dry_run=True) == names and run.exists()
        orphan_files.delete_orphans()
        assert kept.exists() and stranger.exists() and store.size(used.file.name)
        assert not orphan.exists() and not figure.exists() and not run.exists() and not waiting.exists()
