"""What staff and people see and send while people answer pairs."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp import bench_rows, rows
from tests.webapp.dashboard_pages import html
from tests.webapp.pair_answers import answer_all, send
from tests.webapp.test_people_answer_pairs import add_member, list_answers, list_tokens, start_person
from webapp.experiments.models import Job, PairSession, SegmentPair
from webapp.review import panels
from webapp.review.models import PairScreening

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_the_experiments_page_answers_while_pairs_are_filmed() -> None:
    person = start_person()
    rows.create_round(person)
    session = rows.open_pairs(person)
    Job.objects.create(
        experiment=person.experiment, request=session.request, kind=Job.Kind.PAIRS, percent=1, status="running"
    )
    staff = Client()
    staff.force_login(bench_rows.create_staff())
    assert staff.get(reverse("bench:experiment", args=[session.request.experiment.public_id])).status_code == 200


def test_staff_end_a_session_early() -> None:
    person = start_person()
    rows.create_round(person)
    session = rows.open_pairs(person, pairs=2)
    experiment = person.experiment
    assert experiment is not None and not panels.close_round(experiment)
    staff = Client()
    staff.force_login(bench_rows.create_staff())
    assert "Go on with these" not in staff.get(reverse("bench:experiment", args=[experiment.public_id])).text
    send(person, (list_tokens(send(person))[0], "equal"))
    page = staff.get(reverse("bench:experiment", args=[experiment.public_id])).text
    assert "1 of 2 answers to pairs are there." in page and "Go on with these" in page
    assert panels.close_round(experiment)
    assert sorted(list_answers(session)) == ["equal", "skip"]


def test_a_late_answer_takes_a_free_place_of_its_pair() -> None:
    first = start_person()
    rows.open_pairs(first, pairs=1)
    others = [add_member(first, number, overlap=2) for number in range(2)]
    mine = list_tokens(send(first))
    PairScreening.objects.update(released_at=timezone.now())
    answer_all(others[0])
    told = send(first, (mine[0], "left"))
    assert (told["done"], told["pairs"]) == (2, []), "the second answer that the pair needs"
    late = PairScreening.objects.create(
        pair=SegmentPair.objects.get(), participant=others[1], swapped=False, copy=1, released_at=timezone.now()
    )
    assert send(others[1], (late.token, "left"))["done"] == 2
    late.refresh_from_db()
    assert late.answer == "first" and late.released_at is not None, "kept, not counted"


def test_a_huge_number_is_refused() -> None:
    person = start_person()
    rows.open_pairs(person)
    body = '{"changes": [{"token": "x", "answer": "left", "sequence": 1e300}]}'
    sent = Client().post(reverse("pairs", args=[person.token]), body, content_type="application/json")
    assert sent.status_code == 400


def test_the_experiments_page_counts_pairs_from_when_people_see_them() -> None:
    person = start_person()
    rows.create_round(person)
    session = rows.open_pairs(person, pairs=3)
    staff = Client()
    staff.force_login(bench_rows.create_staff())
    address = reverse("bench:experiment", args=[session.request.experiment.public_id])
    assert "</dt><dd>0</dd>" in staff.get(address).text.partition("Pairs asked")[2][:80]
    PairSession.objects.update(opened_at=timezone.now())
    page = staff.get(address).text
    assert "</dt><dd>3</dd>" in page.partition("Pairs asked")[2][:80]
    assert "people answer" in page.partition('aria-current="step"')[2][:600]
    assert "<small>waiting for answers</small>" in staff.get(reverse("bench:index")).text


def test_the_waiting_page_speaks_of_one_robot(client: Client) -> None:
    person = start_person()
    page = html(client.get(person.get_absolute_url()))
    assert (
        "Getting ready" in page
        and "when it has practised a little" in page
        and "they" not in page.partition("<main")[2]
    )
