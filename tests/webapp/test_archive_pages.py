import hashlib
import io
import zipfile
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import Group, Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import OperationalError, connections
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp import bench_rows, rows
from tests.webapp.fake_workers import fall_silent
from webapp.archive import export, tasks, work
from webapp.archive.models import Export, Import, Origin
from webapp.audit.models import Entry
from webapp.base import claims, processes
from webapp.base.store import store
from webapp.celery import app
from webapp.studies.models import Recruit, Study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(autouse=True)
def without_work_beats(monkeypatch):
    monkeypatch.setattr(claims, "BEAT_SECONDS", 3600)  # the beat of a worker has a connection of its own


@pytest.fixture
def study():
    person = rows.participant()
    Recruit.objects.create(study=person.study, participant=person, external_id="sentinel_external_id")
    return person.study


@pytest.fixture
def staff_client(client):
    client.force_login(bench_rows.create_staff())
    return client


def experimenter(*rights):
    user = User.objects.create(username="grace", is_staff=True)
    for right in rights:
        app, _, name = right.partition(".")
        user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=name))
    browser = Client()
    browser.force_login(user)
    return browser


def text_of(response):
    return response.content.decode()


async def whole(response):
    return b"".join([piece async for piece in response.streaming_content])


class TestExporting:
    def test_from_the_button_to_the_file(self, staff_client, study):
        page = staff_client.post(reverse("archive:export", args=[study.pk]), {"fresh_labels": "on"}, follow=True)
        assert "Waiting for a worker" in text_of(page)
        task = Export.objects.get()
        assert (task.by, task.clips, task.checkpoints, task.fresh_labels) == ("ada", False, False, True)
        tasks.archive("export", task.pk)
        task.refresh_from_db()
        assert task.status == "done" and task.fraction == 1.0
        assert task.sha256 == hashlib.sha256((settings.DATA_DIR / task.key).read_bytes()).hexdigest()
        page = text_of(staff_client.get(reverse("archive:study", args=[study.pk])))
        assert task.sha256 in page and "fresh pseudonyms" in page
        assert not list((settings.DATA_DIR / task.key).parent.glob("*.part"))
        entry = Entry.objects.get(action="exported study")
        assert (entry.actor, entry.target_id, entry.detail["fresh_labels"]) == ("ada", str(study.pk), True)

    @pytest.mark.django_db(transaction=True)
    async def test_download(self, async_client, study):
        user = await User.objects.acreate(username="ada", is_staff=True, is_superuser=True)
        task = await Export.objects.acreate(study=study, by="ada", status="done", sha256="c0ffee" * 10)
        address = reverse("archive:download", args=[task.public_id])
        assert (await async_client.get(address)).status_code == 404
        await async_client.aforce_login(user)
        assert (await async_client.get(address)).status_code == 404  # the file is gone
        store.publish(task.key, b"PK 0123456789")
        response = await async_client.get(address)
        assert await whole(response) == b"PK 0123456789"
        assert response["Content-Disposition"] == 'attachment; filename="robots-that-learn-to-walk-c0ffeec0.zip"'
        assert "no-store" in response["Cache-Control"]
        part = await async_client.get(address, headers={"range": "bytes=3-6"})
        assert part.status_code == 206 and await whole(part) == b"0123"
        assert await Entry.objects.filter(action="downloaded export", actor="ada").acount() == 2
        await sync_to_async(connections.close_all)()  # of the thread that did all this

    def test_one_at_a_time(self, staff_client, study):
        for _ in range(2):
            page = staff_client.post(reverse("archive:export", args=[study.pk]), follow=True)
        assert "is being made already" in text_of(page) and Export.objects.count() == 1

    def test_deleting_the_file(self, staff_client, study):
        task = Export.objects.create(study=study, by="ada", status="done")
        store.publish(task.key, b"PK")
        staff_client.post(reverse("archive:remove", args=[task.public_id]))
        assert store.size(task.key) is None and not Export.objects.exists()

    def test_progress_asks_again_while_there_is_something_to_wait_for(self, staff_client, study):
        now = timezone.now()
        times = {"started_at": now - timedelta(seconds=30), "heartbeat": now}
        task = Export.objects.create(
            study=study, by="ada", status="running", fraction=0.25, words="Table votes", **times
        )
        address = reverse("archive:progress", args=["export", task.public_id])
        said = text_of(staff_client.get(address))
        assert (
            "Table votes" in said and "25%" in said and "about 2 min left" in said and 'hx-trigger="every 2s"' in said
        )
        Export.objects.update(status="failed", error="The disk is full.")
        said = text_of(staff_client.get(address))
        assert "The disk is full." in said and "hx-trigger" not in said

    def test_the_command_writes_the_same(self, study, tmp_path):
        call_command("export_study", study.pk, tmp_path / "one.zip", stdout=io.StringIO())
        export.write_export(study, tmp_path / "two.zip")
        assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
        with pytest.raises(CommandError, match=r"There are: \d+ \(Robots"):
            call_command("export_study", 999, tmp_path / "x.zip")


class TestRights:
    def test_of_viewers(self, study):
        browser = experimenter()
        page = text_of(browser.get(reverse("archive:study", args=[study.pk])))
        assert page.count("Your role does not include") == 3
        for name in ("export", "key", "erase"):
            assert browser.post(reverse(f"archive:{name}", args=[study.pk])).status_code == 403
        assert browser.post(reverse("archive:import")).status_code == 403
        assert not Export.objects.exists() and "sentinel_external_id" not in page

    def test_of_experimenters(self, study):
        browser = experimenter()
        User.objects.get(username="grace").groups.add(Group.objects.get_or_create(name="Experimenters")[0])
        page = text_of(browser.get(reverse("archive:study", args=[study.pk])))
        assert "Make an export" in page and "Download the key table" not in page
        assert browser.post(reverse("archive:key", args=[study.pk])).status_code == 403
        assert browser.post(reverse("archive:export", args=[study.pk])).status_code == 302

    def test_the_key_table_needs_its_own_right_and_is_recorded(self, study):
        browser = experimenter("studies.view_recruit", "experiments.change_experiment")
        response = browser.post(reverse("archive:key", args=[study.pk]))
        assert text_of(response).splitlines()[1].startswith("P07,sentinel_external_id,")
        assert Entry.objects.get(action="downloaded the key table").actor == "grace"


class TestImporting:
    def bring(self, browser, data, name="study.zip"):
        file = SimpleUploadedFile(name, data, "application/zip")
        return browser.post(reverse("archive:import"), {"file": file}, follow=True)

    def test_from_the_upload_to_the_study(self, staff_client, study, tmp_path):
        export.write_export(study, tmp_path / "study.zip")
        page = self.bring(staff_client, (tmp_path / "study.zip").read_bytes())
        assert "Waiting for a worker" in text_of(page)
        task = Import.objects.get()
        tasks.archive("import", task.pk)
        task.refresh_from_db()
        assert task.status == "done" and task.study != study and store.size(task.key) is None
        page = text_of(staff_client.get(reverse("archive:study", args=[task.study_id])))
        assert "It is here to look at" in page
        assert "imported" in text_of(staff_client.get(reverse("archive:index")))

    def test_what_is_refused_says_why(self, staff_client):
        self.bring(staff_client, b"no zip at all")
        task = Import.objects.get()
        tasks.archive("import", task.pk)
        said = text_of(staff_client.get(reverse("archive:progress", args=["import", task.public_id])))
        assert "Nothing was imported." in said and "no zip file" in said and store.size(task.key) is None

    def test_names_of_files_are_only_words(self, staff_client):
        self.bring(staff_client, b"x", name="../<script>alert(1)</script>.zip")
        task = Import.objects.get()
        assert (settings.DATA_DIR / task.key).parent.name == "imports" and (settings.DATA_DIR / task.key).is_file()
        assert "<script>alert" not in text_of(staff_client.get(reverse("archive:index")))

    @pytest.mark.parametrize("data", [None, b""])
    def test_nothing_was_chosen(self, staff_client, data):
        page = (
            staff_client.post(reverse("archive:import"), {}, follow=True)
            if data is None
            else self.bring(staff_client, data)
        )
        assert "Choose the zip" in text_of(page) or "empty" in text_of(page)
        assert not Import.objects.exists()

    def test_a_worker_that_died_right_after_imports_nothing_twice(self, study, tmp_path):
        task = Import.objects.create(by="ada", name="x", study=study)
        store.publish(task.key, b"it was read already")
        assert tasks.carry_out_task("import", task.pk) and Study.objects.count() == 1 and store.size(task.key) is None

    def test_the_command(self, study, tmp_path):
        export.write_export(study, tmp_path / "study.zip")
        call_command("import_study", tmp_path / "study.zip", stdout=io.StringIO())
        assert Origin.objects.get().study != study
        (tmp_path / "bad.zip").write_bytes(b"bad")
        with pytest.raises(CommandError, match="Nothing was imported"):
            call_command("import_study", tmp_path / "bad.zip")


class TestWork:
    def test_is_done_by_one(self, study):
        task = Export.objects.create(study=study, by="ada")
        assert work.claim_task(task) and not work.claim_task(Export.objects.get())

    def test_comes_back_when_its_worker_is_gone(self, study, settings):
        task = Export.objects.create(study=study, by="ada")
        work.claim_task(task)
        work.requeue_abandoned()
        assert Export.objects.get().status == "running"
        fall_silent(Export)
        work.requeue_abandoned()
        assert Export.objects.get().status == "queued"
        assert tasks.carry_out_task("export", task.pk)
        with zipfile.ZipFile(settings.DATA_DIR / Export.objects.get().key) as package:
            assert package.testzip() is None

    def test_gives_up_in_the_end(self, study, settings):
        Export.objects.create(study=study, by="ada", status="running", attempt=settings.ATTEMPTS)
        fall_silent(Export)
        work.requeue_abandoned()
        assert Export.objects.get().status == "failed" and "disappeared" in Export.objects.get().error

    def test_is_put_down_when_the_process_is_to_end(self, study):
        task = Export.objects.create(study=study, by="ada")
        processes.stopping.set()
        try:
            assert not tasks.carry_out_task("export", task.pk)
        finally:
            processes.stopping.clear()
        assert Export.objects.get().status == "queued"
        assert list((settings.DATA_DIR / task.key).parent.glob("*")) == []

    def test_that_was_deleted_meanwhile_leaves_nothing(self, study):
        task = Export.objects.create(study=study, by="ada")

        def deleted(given, beat):
            Export.objects.all().delete()
            export.run_export(given, beat)

        assert not work.run_task(task, deleted)
        assert store.size(task.key) is None

    @pytest.mark.django_db(transaction=True)
    def test_whose_failure_the_database_did_not_take_keeps_its_own_error(self, study, monkeypatch, settings):
        def fail(*given):
            raise ZeroDivisionError

        def away(*given):
            raise OperationalError("the database system is shutting down")

        task = Export.objects.create(study=study, by="ada")
        settings.LEASE_SECONDS = 0
        monkeypatch.setattr(work, "mark_failed", away)
        with pytest.raises(ZeroDivisionError):
            work.run_task(task, fail)
        assert Export.objects.get().status == "running"

    def test_is_rung_for_again(self, study, monkeypatch):
        rung = []
        monkeypatch.setattr(app, "send_task", lambda name, args, **options: rung.append(args))
        task = Export.objects.create(study=study, by="ada")
        work.requeue_abandoned()
        work.requeue_abandoned()
        assert rung == [("export", task.pk)]
