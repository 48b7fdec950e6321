"""The practice trial: the page of a round, feedback, and nothing of it kept as a vote."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse

from tests.webapp import rows
from webapp.review.models import ClipTicket, Screening, Vote
from webapp.studies.models import Participant
from webapp.studio import practice
from webapp.studio.presentations import films

pytestmark = pytest.mark.django_db


@pytest.fixture
def person():
    someone = rows.participant(rows.study(practice=True))
    rows.create_round(someone)
    rows.open_judgement(someone)
    return someone


def page(client, person):
    return client.get(person.get_absolute_url()).content.decode()


def send(client, person, **fields):
    return client.post(reverse("practice", args=[person.token]), fields, follow=True).content.decode()


def letters(person, k=6):
    """Letter of each clip, the best first."""
    shown = {tile.name: tile.letter for tile in practice.make_tiles(person, k)}
    return [shown[name] for name in practice.CLIPS if name in shown]


def test_it_comes_before_the_first_round(client, person):
    html = page(client, person)
    assert "Practice: it does not count" in html and practice.SENTENCE in html
    assert html.count('class="tile') == 4 and 'id="ballot"' in html and "Round 1" not in html
    videos = re.findall(r'src="/static/(studio/practice/\w+\.mp4)"', html)
    assert len(videos) == 4 and all(finders.find(name) for name in videos)


def test_a_study_without_it_goes_to_the_round(client):
    someone = rows.participant(rows.study(practice=False))
    rows.create_round(someone)
    rows.open_judgement(someone)
    assert "Round 1 of 3" in page(client, someone)


def test_the_order_is_the_persons_own_and_stays(person):
    names = [tile.name for tile in practice.make_tiles(person, 6)]
    assert [tile.name for tile in practice.make_tiles(person, 6)] == names
    others = {
        tuple(t.name for t in practice.make_tiles(Participant(study=person.study, label=f"P{i}"), 6)) for i in range(9)
    }
    assert len(others) > 3


def test_choosing_as_most_people_do(client, person):
    best, *_, worst = letters(person)
    html = send(client, person, best=best, worst=worst)
    assert "That is how it works" in html and "You chose what most people choose" in html
    assert "comes closest to what was asked" in html and "is farthest from it" in html
    assert "That is how it works" in page(client, person)  # a reload shows the same


def test_choosing_otherwise_is_explained(client, person):
    best, *_, worst = letters(person)
    html = send(client, person, best=worst, worst=best)
    assert "Most people would choose otherwise here" in html
    assert f"video {worst} as the best and video {best} as the worst" in html
    assert "keeps its pole upright and still" in html and "drops its pole again and again" in html


def test_cannot_tell_is_explained(client, person):
    assert "You could not tell these apart" in send(client, person, cannot_tell="yes")


@pytest.mark.parametrize("fields", [{"best": "A"}, {"best": "A", "worst": "Z"}, {"worst": "B"}, {"best": "<b>"}])
def test_half_a_choice_is_asked_for_again(client, person, fields):
    html = send(client, person, **fields)
    assert "Choose the best and the worst video" in html and 'id="ballot"' in html


def test_the_same_video_twice(client, person):
    assert "Choose two different ones" in send(client, person, best="A", worst="A")


@pytest.mark.slow
def test_going_on_and_practising_again(client, person):
    send(client, person, best="A", worst="B")
    assert 'id="ballot"' in send(client, person, then="again") and 'id="ballot"' in page(client, person)
    send(client, person, best="A", worst="B")
    assert "Round 1 of 3" in send(client, person, then="on")
    person.refresh_from_db()
    assert person.practised_at
    assert "Round 1 of 3" in page(Client(), person)  # also on another device


def test_going_on_without_having_practised(client, person):
    assert 'id="ballot"' in send(client, person, then="on")
    person.refresh_from_db()
    assert person.practised_at is None


def test_nothing_of_it_is_kept_as_a_vote(client, person):
    page(client, person)
    send(client, person, best="A", worst="B", reason="it fell", tags="best: moves fast")
    send(client, person, then="on")
    assert not Vote.objects.exists()
    page(client, person)
    assert Screening.objects.count() == 1 and Vote.objects.count() == 0
    assert ClipTicket.objects.count() == person.experiment.k  # the round's own, and none for the practice clips


def test_sent_late_it_changes_nothing(client, person):
    send(client, person, best="A", worst="B")
    send(client, person, then="on")
    assert "Round 1 of 3" in send(client, person, best="B", worst="A")
    assert not Vote.objects.exists()


def test_two_videos_where_a_round_has_two():
    someone = rows.participant(rows.study(practice=True, k=2))
    assert {tile.name for tile in practice.make_tiles(someone, 2)} == {"still", "falls"}
    assert len(practice.make_tiles(someone, 3)) == 3
    plan = someone.study.arms.get()
    assert "these two" in practice.make_page_context(someone, plan, films.PRESENTATION)["ask"]


def test_people_who_answer_pairs_practise_with_one(client: Any) -> None:
    person = rows.participant(rows.study(practice=True, task="Cartpole", method="prefppo", k=1, n=1))
    Participant.objects.update(practised_at=None)
    page = client.get(person.get_absolute_url()).content.decode()
    samples = json.loads(unescape(re.search(r'data-samples="([^"]*)"', page)[1]))
    assert "it does not count" in page and len(samples) == 1
    left = samples[0]["left"]
    told = send(client, person, answer="equal")
    assert "you may say so too" in told
    client.post(reverse("practice", args=[person.token]), {"then": "again"})
    told = send(client, person, answer="left")
    assert ("You chose what most people choose." in told) == ("still" in left)
    assert ("You chose video A as the best" in told) == ("falls" in left)
    client.post(reverse("practice", args=[person.token]), {"then": "on"})
    person.refresh_from_db()
    assert person.practised_at is not None


def test_the_page_is_left_alone_while_somebody_looks_at_the_feedback(client, person):
    html = send(client, person, best="A", worst="B")
    version = re.search(r"\?version=(\w+)", html)[1]
    answer = client.get(reverse("live", args=[person.token]), {"version": version}, headers={"HX-Request": "true"})
    assert answer.status_code == 204
