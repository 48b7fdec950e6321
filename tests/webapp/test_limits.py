"""What one address may do in an hour."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tests.webapp import rows
from webapp.studies import limits
from webapp.studies.models import Participant

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STARTS", 2)
    monkeypatch.setattr(limits, "WRONG_LINKS", 2)


def press_start(address: str = "10.0.0.1", client: Client | None = None) -> tuple[int, str]:
    study, client = rows.Study.objects.get(), client or Client()
    answer = client.post(reverse("start", args=[study.pk]), REMOTE_ADDR=address)
    return answer.status_code, answer.content.decode()


def test_one_address_may_start_so_many_demonstrations() -> None:
    rows.study(demonstration=True)
    assert [press_start()[0] for _ in range(2)] == [302, 302]
    status, said = press_start()
    assert status == 429 and "Please try again a little later" in said and "Start</button>" in said
    assert press_start("10.0.0.2")[0] == 302
    assert Participant.objects.count() == 3


def test_who_has_begun_goes_on() -> None:
    rows.study(demonstration=True)
    client = Client()
    assert [press_start(client=client)[0] for _ in range(5)] == [302] * 5
    assert Participant.objects.count() == 1


def test_one_address_may_try_so_many_wrong_links() -> None:
    person = rows.participant()

    def follow(token: str, address: str = "10.0.0.1") -> tuple[int, str]:
        answer = Client().get(f"/s/{token}/", REMOTE_ADDR=address)
        return answer.status_code, answer.content.decode()

    assert [follow(f"guess-{n}")[0] for n in range(2)] == [404, 404]
    status, said = follow("guess-3")
    assert status == 429 and "Too many wrong links" in said
    assert follow(person.token)[0] == 200
    assert follow("guess-3", "10.0.0.2")[0] == 404
