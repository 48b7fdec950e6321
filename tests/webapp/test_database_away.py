"""While the database is locked or away, people read that they must wait, wherever in a request it was asked."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.urls import reverse

from tests.webapp import bench_rows, rows
from webapp.experiments.models import Request
from webapp.review.models import Vote
from webapp.review.screenings import find_screening

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="a file that is locked or gone"),
]


@pytest.fixture
def judge():
    person = rows.participant()
    rows.create_round(person)
    rows.open_judgement(person)
    return person


def check(answer, tries_again):
    page = answer.content.decode()
    assert answer.status_code == 503 and answer["Retry-After"] and "Please wait a moment" in page
    assert ("tries again by itself" in page) == (answer.get("Refresh") == "10") == tries_again


def test_a_locked_database(judge):
    """Longer than SQLite waits, which is 20 s on a site."""
    client = Client(raise_request_exception=False)
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 100")
    with closing(sqlite3.connect(settings.DATABASES["default"]["NAME"], isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        check(client.get(judge.get_absolute_url()), tries_again=True)
        other.execute("ROLLBACK")
        shown = find_screening(Request.objects.get(kind="Judge"), judge)
        send = partial(
            client.post, reverse("vote", args=[judge.token]), {"screening": shown.token, "best": "A", "worst": "B"}
        )
        other.execute("BEGIN IMMEDIATE")
        check(send(), tries_again=False)
        other.execute("ROLLBACK")
    assert not Vote.objects.exists() and send().status_code == 302 and Vote.objects.exists()


@pytest.mark.parametrize("who", ["participant", "staff"])
def test_a_database_that_is_away(judge, who, monkeypatch):
    client = Client(raise_request_exception=False)
    client.force_login(bench_rows.create_staff())
    address = judge.get_absolute_url() if who == "participant" else reverse("bench:index")
    connection.close()
    with monkeypatch.context() as patch:
        patch.setitem(connection.settings_dict, "NAME", "/nowhere/db.sqlite3")
        check(client.get(address), tries_again=True)
    connection.close()
    assert client.get(address).status_code == 200
