"""NUL in what a browser sends: PostgreSQL takes it nowhere. On PostgreSQL by test_production.py."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.test import Client

from tests.webapp import rows
from webapp.experiments.models import Event, Request
from webapp.review.models import Vote
from webapp.review.screenings import find_screening, make_tiles
from webapp.studies.models import Participant

pytestmark = pytest.mark.django_db(transaction=True)
NUL = "some\0where"


@pytest.fixture
def person() -> Participant:
    person = rows.participant()
    rows.create_round(person)
    rows.open_judgement(person)
    return person


@pytest.mark.parametrize("address", [f"/clip/{NUL}/", f"/clip/{NUL}/poster/", f"/s/{NUL}/", f"/s/{NUL}/live/"])
def test_an_address_is_not_found(person: Participant, address: str) -> None:
    answer = Client().get(address.replace("\0", "%00"))
    assert answer.status_code == 404


def test_a_websocket_is_closed(person: Participant) -> None:
    from webapp.asgi import application

    async def connect() -> Any:
        headers = [(b"host", b"localhost"), (b"origin", b"http://localhost")]
        scope = {"type": "websocket", "path": f"/ws/s/{NUL}/", "query_string": b"", "headers": headers}
        socket = ApplicationCommunicator(application, scope)
        await socket.send_input({"type": "websocket.connect"})
        return await socket.receive_output(timeout=60)

    assert async_to_sync(connect)() == {"type": "websocket.close", "code": 4404}


@pytest.mark.parametrize("action", ["vote", "undo", "report"])
def test_a_form_changes_nothing(person: Participant, action: str) -> None:
    address = f"{person.get_absolute_url()}{action}/"
    answer = Client().post(address, {"screening": NUL, "clip": NUL, "best": NUL, "worst": NUL})
    assert answer.status_code == (404 if action == "report" else 302)
    assert not Vote.objects.exists() and not Event.objects.exists()


def test_a_choice_with_nul_in_its_words_counts(person: Participant) -> None:
    screening = find_screening(Request.objects.get(kind="Judge"), person)
    best, worst = (tile.letter for tile in make_tiles(screening)[:2])
    said = {"screening": screening.token, "best": best, "worst": worst, "reason": f"it went {NUL}", "tags": NUL}
    Client().post(f"{person.get_absolute_url()}vote/", {**said, "client": '{"plays": 1, "a\\u0000b": 2}'})
    assert Vote.objects.get().reason == "it went somewhere"
