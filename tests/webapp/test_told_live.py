"""Pages of those who wait for others, or for the next experiment, hear of what they wait for."""

import re

import pytest
from django.test import override_settings

from tests.webapp import rows
from webapp.live import consumers, tail
from webapp.review import ballot
from webapp.review.screenings import find_screening
from webapp.studies.models import Assignment

pytestmark = pytest.mark.django_db


def test_between_two_experiments_a_page_listens(client):
    person = rows.participant(rows.study(experiments_each=2))
    rows.create_round(person)
    rows.finish_experiment(person)
    Assignment.objects.create(participant=person, arm=person.study.arms.first(), position=2)
    assert person.experiment is None
    assert consumers.find_visitor(person.token) == (person.pk, person.assignments.get(position=1).experiment_id)


@override_settings(UNDO_SECONDS=0)
def test_a_page_that_waits_for_a_panel_finds_each_choice_that_stands(client):
    study = rows.study(panel=3)
    first = rows.participant(study, label="P01")
    others = [rows.participant(study, label=f"P0{number}") for number in (2, 3)]
    Assignment.objects.filter(participant__in=others).update(experiment=first.experiment)
    rows.create_round(first)
    request = rows.open_judgement(first)
    for person in (first, others[0]):
        ballot.cast_vote(person, find_screening(request, person).token, ballot.Choice(*"AB"))
        if person == first:
            assert ballot.lock_due_votes() == 0
            page = client.get(first.get_absolute_url()).content.decode()
            assert "Two others are still choosing" in page
    ask_at, every = re.search(r'data-every="(\d+)" hx-get="([^"]+)"', page).groups()[::-1]
    assert every == "3"
    assert ballot.lock_due_votes() == 0
    answer = client.get(ask_at, headers={"HX-Request": "true"})
    assert answer["HX-Retarget"] == "#state"
    assert "One other person is still choosing" in answer.content.decode()


@override_settings(UNDO_SECONDS=10)
def test_a_choice_is_told_to_the_pages_of_its_own_person_only():
    study = rows.study(panel=2)
    first = rows.participant(study, label="P01")
    other = rows.participant(study, label="P02")
    Assignment.objects.filter(participant=other).update(experiment=first.experiment)
    rows.create_round(first)
    request = rows.open_judgement(first)
    window = tail.Window(tail.find_newest_id())
    cast = ballot.cast_vote(first, find_screening(request, first).token, ballot.Choice(*"AB"))
    rows_of_events, told = tail.collect_news(window)
    assert [row[2] for row in rows_of_events] == ["voted"]
    assert told == [first.pk]
    assert ballot.undo_vote(cast.vote)
    assert tail.collect_news(window)[1] == [first.pk]


def test_the_more_pages_are_open_the_less_often_each_asks(monkeypatch):
    asked, few = [], 3 * consumers.ASKS_PER_SECOND
    for pages in (0, 1, few, few + 1, 1000):
        monkeypatch.setattr(consumers.EventConsumer, "sockets", pages)
        asked.append(consumers.compute_ask_seconds())
    assert asked == [3, 3, 3, 4, 125]
