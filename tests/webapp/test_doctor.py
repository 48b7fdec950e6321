"""The doctor finds planted faults, and no others."""

import functools
import resource
import subprocess
import sys
from collections import namedtuple
from datetime import UTC, datetime, timedelta

import httpx2
import pytest
from django.db import connection

from tests.webapp.servers import ROOT, embedded, free_port
from webapp import doctor

SICK_ROWS = """
import django; django.setup()
from datetime import timedelta
from django.db import connection
from django.utils import timezone
from webapp.experiments import workers
from webapp.experiments.models import Worker
old = workers.register("old-train", "train", "cpu")
Worker.objects.filter(pk=old.pk).update(version="0.0.1", owner="elsewhere/1:1:a")
gone = workers.register("gone-llm", "llm", "")
Worker.objects.filter(pk=gone.pk).update(owner="elsewhere/1:1:b", heartbeat=timezone.now() - timedelta(hours=3))
with connection.cursor() as cursor:
    cursor.execute("DELETE FROM django_migrations WHERE app = 'review' AND name LIKE '0001%'")
"""


def see(stack, **environment):
    """The lines of a run, by what they are about, and its exit status."""
    done = subprocess.run(
        [sys.executable, "manage.py", "doctor"],
        cwd=ROOT,
        env=stack.environment | environment,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024)),
    )
    assert not done.stderr, done.stderr
    return done.stdout, done.returncode


@pytest.mark.slow
def test_planted_faults_are_found(tmp_path):
    stack, closed = embedded(tmp_path / "data"), free_port()
    begin = stack.environment | {"DJANGO_SETTINGS_MODULE": "webapp.settings"}
    subprocess.run([sys.executable, "-c", SICK_ROWS], cwd=ROOT, env=begin, check=True)
    (stack.data / "vapid.pem").write_text("a key")
    (stack.data / "vapid.pem").chmod(0o644)
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "pyseccomp.py").write_text("raise RuntimeError('Unable to find libseccomp')")
    said, status = see(
        stack,
        PREFINE_BROKER_URL=f"redis://:SECRET@127.0.0.1:{closed}/0",
        PREFINE_URL=f"http://127.0.0.1:{closed}",
        PREFINE_EMAIL_URL=f"smtp://me:SECRET@127.0.0.1:{closed}",
        PREFINE_DEBUG="1",
        PREFINE_STORE_URL=f"s3://key:SECRET@127.0.0.1:{closed}/bucket?tls=0",
        PREFINE_DEVICE="cuda:7",
        IMAGEIO_FFMPEG_EXE="/nowhere/ffmpeg",
        MUJOCO_GL="nonsense",
        PYTHONPATH=str(modules),
    )
    faults = [
        ("fail", "migrations", "are not applied, from review.0001"),
        ("fail", "broker", "ConnectionError"),
        ("fail", "store", "Error"),
        ("fail", "workers", "Filming: nobody works"),
        ("warn", "workers", "gone-llm was last heard"),
        ("warn", "workers", "old-train runs 0.0.1"),
        ("fail", "address", "does not answer"),
        ("fail", "e-mail", "127.0.0.1 refused"),
        ("fail", "secrets", "vapid.pem"),
        ("fail", "secrets", "PREFINE_DEBUG"),
        ("warn", "open files", "1024"),
        ("fail", "device", "PREFINE_DEVICE"),
        ("fail", "rendering", "MUJOCO_GL"),
        ("fail", "ffmpeg", "/nowhere/ffmpeg"),
        ("fail", "jail", "libseccomp"),
    ]
    for state, part, text in faults:
        lines = [line for line in said.splitlines() if line.startswith(f"{state:<5} {part:<11} ")]
        assert any(text in line for line in lines), (state, part, text, said)
    assert status == 1 and "SECRET" not in said
    failing = [line[6:17].strip() for line in said.splitlines() if line.startswith("fail ")]
    planted = [part for state, part, _ in faults if state == "fail"] + ["workers"]  # nobody writes either
    assert sorted(part for part in failing if part not in ("disk", "memory")) == sorted(planted)


def test_clock_disk_and_memory(db, monkeypatch, data):
    assert [finding.state for finding in doctor.examine_clock()] == ["ok"]
    monkeypatch.setattr(doctor, "read_now", lambda: datetime.now(UTC) + timedelta(hours=1))
    [finding] = doctor.examine_clock()
    assert finding.state == "fail" and "3600 s away" in finding.text
    usage = namedtuple("usage", "total used free")
    for free, state in ((5e8, "fail"), (5e9, "warn"), (5e10, "ok")):
        monkeypatch.setattr("shutil.disk_usage", lambda folder, free=free: usage(1e11, 1e11 - free, free))
        assert {finding.state for finding in doctor.examine_disk()} == {state}
    for free, state in ((5e8, "fail"), (2e9, "warn"), (5e10, "ok")):
        monkeypatch.setattr(doctor, "read_free_memory", lambda free=free: int(free))
        assert {finding.state for finding in doctor.examine_memory()} == {state}


@pytest.mark.parametrize(
    ("live", "page_status", "state", "said"),
    [
        ('{"version": "%s"}', 200, "ok", "https://prefine.example.org"),
        ('{"version": "%s"}', 400, "fail", "refuses its own name"),
        ('{"version": "0.0.1"}', 200, "warn", "runs 0.0.1"),
        ("<h1>A shop, version 3</h1>", 200, "fail", "is not Prefine"),
        ("[]", 200, "fail", "is not Prefine"),
    ],
)
def test_the_address_is_asked_whose_it_is(monkeypatch, settings, live, page_status, state, said):
    def answer(request):
        if request.url.path == "/health/live":
            return httpx2.Response(200, text=live.replace("%s", settings.VERSION))
        return httpx2.Response(page_status)

    settings.SITE_URL = "https://prefine.example.org"
    client = functools.partial(httpx2.Client, transport=httpx2.MockTransport(answer))
    monkeypatch.setattr(doctor.httpx2, "Client", client)
    [finding] = doctor.examine_address()
    assert finding.state == state and said in finding.text


def test_a_site_for_others_needs_tls_and_a_second_factor(settings, data):
    settings.SITE_URL, settings.DEBUG, settings.SECURE, settings.REQUIRE_2FA = (
        "http://lab.example.org",
        False,
        False,
        False,
    )
    assert [finding.text for finding in doctor.examine_secrets()] == [
        "the site is reached without TLS",
        "staff sign in with a password alone",
    ]
    settings.SECURE = settings.REQUIRE_2FA = True
    assert list(doctor.examine_secrets()) == []
    settings.SITE_URL, settings.SECURE, settings.REQUIRE_2FA = "http://localhost:8000", False, False
    assert list(doctor.examine_secrets()) == []


def test_prompts_of_ones_own_need_a_model(monkeypatch, settings):
    monkeypatch.setattr(doctor.prompts, "read_own", lambda: {"write": "Write a reward."})
    settings.MODEL_BASE_URL, settings.LOCAL_MODEL = "", ""
    assert [finding.state for finding in doctor.examine_prompts()] == ["ok", "warn"]
    settings.MODEL_BASE_URL = "http://127.0.0.1:9/v1"
    assert [finding.state for finding in doctor.examine_prompts()] == ["ok"]


def test_a_scratch_folder_that_no_training_has_made_yet_is_no_fault(settings, data):
    settings.SCRATCH = data / "scratch"
    assert {finding.state for finding in doctor.examine_disk()} <= {"ok", "warn"}


def test_a_newer_database_is_a_warning(db):
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('review', '9999_later', '2030-01-01')"
        )
    [finding] = doctor.examine_migrations()
    assert finding.state == "warn" and "review.9999_later" in finding.text


def test_a_mistake_in_the_doctor_itself_is_named_with_its_place(db, monkeypatch):
    monkeypatch.setattr(doctor, "CHECKS", {"clock": lambda: None.clock(), "disk": doctor.examine_files})
    first, *others = doctor.examine()
    assert first[1].state == "fail" and "AttributeError" in first[1].text and "test_doctor.py, line" in first[1].text
    assert len(others) == 1, "the others are looked at"
