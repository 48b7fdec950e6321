"""People who answer pairs of segments, without a browser."""

from __future__ import annotations

import itertools
import json
from typing import Any

from django.test import Client
from django.urls import reverse

from webapp.studies.models import Participant

_sequence = itertools.count(1)


def send(person: Participant, *answers: tuple[str, str], sequence: int = 0) -> dict[str, Any]:
    """Send (token, answer) as the page does; what it is told."""
    changes = [
        {"token": token, "answer": answer, "sequence": sequence or next(_sequence), "seconds": 2.5}
        for token, answer in answers
    ]
    body = json.dumps({"changes": changes})
    response = Client().post(reverse("pairs", args=[person.token]), body, content_type="application/json")
    assert response.status_code == 200, response.content
    return dict(response.json())


def answer_all(person: Participant, answer: str = "left") -> list[str]:
    """Answer every pair that the person is given; the tokens."""
    answered: list[str] = []
    shown = send(person)["pairs"]
    while shown:
        answered.append(shown[0]["token"])
        shown = send(person, (shown[0]["token"], answer))["pairs"]
    return answered
