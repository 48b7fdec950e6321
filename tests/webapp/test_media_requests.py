"""Films and stills pass by what pages alone need, and keep what every answer needs."""

import pytest
from django.contrib.sessions.middleware import SessionMiddleware
from django.db import OperationalError
from django.urls import reverse

from tests.webapp import rows
from tests.webapp.pair_answers import send
from webapp.review import media, screenings
from webapp.review.models import Screening
from webapp.studies.models import Participant


@pytest.fixture
def clip(db):
    """The address of a film on somebody's page."""
    person = rows.participant()
    rows.create_round(person)
    shown = screenings.find_screening(rows.open_judgement(person), person)
    return screenings.make_tiles(shown)[0].video


@pytest.fixture
def pair(db):
    """The token of a pair on somebody's page."""
    person = rows.participant(rows.study(task="Cartpole", method="prefppo", k=1, n=1))
    rows.open_pairs(person)
    return send(person)["pairs"][0]["token"]


@pytest.fixture
def pages(monkeypatch):
    """The addresses for which a session was looked up."""
    asked = []
    monkeypatch.setattr(SessionMiddleware, "process_request", lambda self, request: asked.append(request.path))
    return asked


def test_a_film_needs_no_session_and_keeps_what_every_answer_has(client, clip, pages):
    answer = client.get(clip)
    assert answer.status_code == 200 and answer["Content-Type"] == "video/mp4"
    assert answer["X-Content-Type-Options"] == "nosniff" and answer["X-Frame-Options"] == "DENY"
    assert "default-src 'none'" in answer["Content-Security-Policy"] and answer["X-Request-ID"]
    assert not answer.cookies and "Vary" not in answer
    assert client.get(reverse("clip", args=["unknown"])).status_code == 404 and client.post(clip).status_code == 405
    assert pages == []


@pytest.mark.parametrize(("name", "kind"), [("pair_video", "video/mp4"), ("pair_still", "image/jpeg")])
def test_a_film_of_a_pair_needs_no_session_either(client, pair, pages, name, kind):
    answer = client.get(reverse(name, args=[pair, "left"]))
    assert answer.status_code == 200 and answer["Content-Type"] == kind and not answer.cookies
    assert "default-src 'none'" in answer["Content-Security-Policy"] and "Vary" not in answer
    assert client.get(reverse(name, args=[pair, "middle"])).status_code == 404
    assert client.post(reverse(name, args=[pair, "left"])).status_code == 405
    Participant.objects.update(withdrawn_at="2026-01-01T00:00Z")
    assert client.get(reverse(name, args=[pair, "left"])).status_code == 404
    assert pages == []


def test_unknown_hosts_are_refused(client, clip):
    assert client.get(clip, headers={"host": "elsewhere.example"}).status_code == 400


def test_a_film_ends_with_withdrawal(client, clip):
    Participant.objects.update(withdrawn_at="2026-01-01T00:00Z")
    assert client.get(clip).status_code == 404 and Screening.objects.exists()


def test_a_film_waits_for_the_database_and_fails_aloud_otherwise(client, clip, monkeypatch, caplog):
    def fail(*values):
        raise errors.pop()

    errors = [ValueError("a fault"), OperationalError("the database is away")]
    monkeypatch.setattr(media.TICKET_BY_TOKEN, "find", fail)
    waits = client.get(clip)
    assert waits.status_code == 503 and waits["Retry-After"] and "Traceback" not in caplog.text
    client.raise_request_exception = False
    assert client.get(clip).status_code == 500 and "a fault" in caplog.text
