"""Probes: what they say when all is well, and what they name when something is not."""

import json
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from django.db import connection

from tests.webapp.servers import ROOT, embedded, free_port, listening, wait_for
from webapp import health


@pytest.fixture(autouse=True)
def asked_again(monkeypatch):
    monkeypatch.setattr(health, "_last", None)


@pytest.fixture
def broker_folder(settings, data):
    folder = data / "broker"
    folder.mkdir()
    settings.CELERY_BROKER_URL = "filesystem://"
    settings.CELERY_BROKER_TRANSPORT_OPTIONS = {"data_folder_in": str(folder)}
    return folder


def ask(client, path="/health/ready"):
    answer = client.get(path, headers={"host": "10.1.2.3:8000"})
    return answer.status_code, answer.json()


def test_probes_answer_under_any_name_without_a_session(client, db, broker_folder, django_assert_max_num_queries):
    assert ask(client, "/health/live")[0] == 200
    with django_assert_max_num_queries(3):
        assert ask(client) == (200, {"status": "ready"})
    with django_assert_max_num_queries(0):  # the answer of a moment ago
        assert ask(client, "/health/ready/")[0] == 200
    assert not client.cookies


def test_a_missing_migration_is_named_and_one_of_a_newer_version_is_not(client, db, broker_folder):
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('review', '9999_later', '2030-01-01')"
        )
        assert ask(client)[0] == 200
        cursor.execute("DELETE FROM django_migrations WHERE app = 'review' AND name LIKE '0001%'")
    health._last = None
    assert ask(client) == (503, {"status": "not ready", "failing": {"migrations": "RuntimeError"}})


def test_broker_and_store_that_cannot_be_written_to_are_named(client, db, broker_folder, data, caplog):
    broker_folder.rmdir()
    (data / "media").write_text("no folder")
    status, said = ask(client)
    assert status == 503 and set(said["failing"]) == {"broker", "store"}
    assert str(data) not in json.dumps(said)
    assert "not ready: store: " in caplog.text and "Traceback" not in caplog.text


def test_a_mistake_in_a_check_is_logged_with_its_place(client, db, broker_folder, monkeypatch, caplog):
    monkeypatch.setitem(health.CHECKS, "store", lambda: None.check())
    assert ask(client)[1]["failing"] == {"store": "AttributeError"}
    assert "Traceback" in caplog.text and "test_health.py" in caplog.text


@pytest.mark.slow
def test_a_process_without_database_and_broker_lives_and_is_not_ready(tmp_path):
    stack, port, closed = embedded(tmp_path), free_port(), free_port()
    away = {
        "PREFINE_DATABASE_URL": f"postgres://prefine:SECRET@127.0.0.1:{closed}/prefine",
        "PREFINE_BROKER_URL": f"redis://:SECRET@127.0.0.1:{closed}/0",
    }
    command = [sys.executable, "-m", "uvicorn", "webapp.asgi:application", "--port", str(port), "--lifespan", "off"]
    process = subprocess.Popen(command, cwd=ROOT, env=stack.environment | away, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: listening(port), "the start of the site")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/live", timeout=30) as answer:
            assert json.load(answer)["status"] == "live"
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=30)
        said = refused.value.read().decode()
        assert refused.value.code == 503 and "SECRET" not in said
        assert set(json.loads(said)["failing"]) == {"database", "migrations", "broker"}
    finally:
        process.kill()
        process.wait()
