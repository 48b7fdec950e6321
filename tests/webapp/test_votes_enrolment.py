"""An evaluator's way in by the open link: once a browser, and by nobody else's id."""

import pytest
from django.test import Client
from django.urls import reverse

from tests.webapp import poll_rows
from webapp.archive import erasure
from webapp.votes import lifecycle, poll_enrolment
from webapp.votes.models import Evaluator

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_undo")]


@pytest.fixture
def poll():
    return poll_rows.poll(recruiting=True)


def agree(browser, poll, query=""):
    address = reverse("join", args=[poll.recruitment_token]) + query
    return browser.post(address, {"agree": "yes", "hash": poll.consent_hash})


@pytest.mark.parametrize("query", ["", "?PROLIFIC_PID=p1", "?PROLIFIC_PID=p1&SESSION_ID=s1"])
def test_a_form_sent_twice_makes_one_person(poll, query):
    """The second press is on its way before the first has brought a session."""
    addresses = set()
    for _ in range(2):
        browser = Client()
        browser.cookies["csrftoken"] = "a" * 32
        addresses.add(agree(browser, poll, query).url)
    assert addresses == {Evaluator.objects.get().get_absolute_url()}


@pytest.mark.parametrize("query", ["?PROLIFIC_PID=p1", "?PROLIFIC_PID=p1&SESSION_ID=guessed"])
def test_an_id_alone_opens_nothing_in_another_browser(poll, query):
    agree(Client(), poll, "?PROLIFIC_PID=p1&SESSION_ID=s1")
    person, stranger = Evaluator.objects.get(), Client()
    seen = stranger.get(reverse("join", args=[poll.recruitment_token]) + query)
    for response in (seen, agree(stranger, poll, query)):
        assert response.status_code == 403 and "begun already, somewhere else" in response.content.decode()
        assert person.token not in response.content.decode()
    assert agree(stranger, poll, "?PROLIFIC_PID=p1&SESSION_ID=s1").url == person.get_absolute_url()


@pytest.mark.parametrize("query", ["", "?PROLIFIC_PID=p1", "?PROLIFIC_PID=p1&SESSION_ID=s1"])
def test_who_has_left_comes_back_to_that_page(poll, query):
    """Their id is forgotten then; the link that they got is still theirs."""
    browser = Client()
    agree(browser, poll, query)
    person = Evaluator.objects.get()
    poll_enrolment.withdraw(person)
    assert agree(browser, poll, query).url == person.get_absolute_url()
    if query:  # another person in the same browser
        assert agree(browser, poll, "?PROLIFIC_PID=p2").url != person.get_absolute_url()


def test_no_label_is_given_again(poll):
    people = poll_enrolment.invite_evaluators(poll, 2)
    agree(Client(), poll)
    erasure.erase_evaluator(people[1])
    erasure.erase_evaluator(Evaluator.objects.get(label="R03"))
    assert [person.label for person in poll_enrolment.invite_evaluators(poll, 1)] == ["E04"]


def test_a_person_who_is_about_to_join_as_it_closes_does_not(poll, monkeypatch):
    """Between the look at the poll and its lock: it is over, and nobody new is enrolled."""
    allowed = poll_enrolment.has_begun_elsewhere

    def closes(*given):
        lifecycle.close_poll(poll)
        return allowed(*given)

    monkeypatch.setattr(poll_enrolment, "has_begun_elsewhere", closes)
    browser = Client()
    seen = agree(browser, poll)
    assert not Evaluator.objects.exists()
    assert "This study is closed" in browser.get(seen.url).content.decode()


@pytest.mark.parametrize("query", ["?PROLIFIC_PID=p1&PROLIFIC_PID=p2", "?SESSION_ID=s1", "?id=" + "x" * 65])
def test_a_link_that_does_not_say_who_it_is_enrols_nobody(poll, query):
    assert agree(Client(), poll, query).status_code == 400
    assert not Evaluator.objects.exists()
