"""An evaluator's pages."""

import re
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import reverse

from tests.webapp import bench_rows, poll_rows
from tests.webapp.poll_rows import agree, page
from webapp.studies import limits
from webapp.votes import lifecycle, poll_ballot, poll_enrolment
from webapp.votes.models import Evaluator, Pair, Poll, Showing, Vote

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_undo")]


# --- an evaluator's way ---------------------------------------------------------------------------------------


def test_from_consent_to_thanks(client):
    poll = poll_rows.poll(
        pairs=2, completion_code="C0DE-7", completion_url="https://recruit.example/complete?cc=C0DE-7"
    )
    person = poll_rows.evaluator(poll, consented=False)
    assert "I have read this" in page(client, person)
    html = agree(client, poll, reverse("evaluate_consent", args=[person.token])).content.decode()
    assert "Pair 1 of 2" in html and html.count("<video") == 2 and "C0DE-7" not in html
    assert "Pair 2 of 2" in poll_rows.answer(client, person).content.decode()
    response = poll_rows.answer(client, person)
    html = response.content.decode()
    assert "You have answered everything" in html and "C0DE-7" in html and Vote.objects.count() == 2
    assert "no-store" in response["Cache-Control"]
    person.refresh_from_db()
    assert person.finished_at and person.consent_hash == poll.consent_hash


def test_double_click_and_reload_are_one_vote(client):
    person = poll_rows.evaluator(poll_rows.poll(pairs=2))
    data = {
        "showing": poll_ballot.find_current_showing(person).token,
        "choice": "right",
        "client": '{"decide_ms": 900, "x": 1}',
    }
    for _ in range(2):
        html = client.post(reverse("evaluate_vote", args=[person.token]), data, follow=True).content.decode()
        assert "Pair 2 of 2" in html and 'role="alert"' not in html
    assert Vote.objects.get().client == {"decide_ms": 900}
    assert "Pair 2 of 2" in page(Client(), person)  # on another device


def test_a_page_read_while_the_last_answer_arrives_says_thank_you(client):
    person = poll_rows.evaluator(poll_rows.poll())
    Vote.objects.create(showing=poll_ballot.find_current_showing(person), choice="left")
    assert "You have answered everything" in page(client, person)


@pytest.mark.slow
def test_n_is_reached_while_somebody_votes(client):
    poll = poll_rows.poll(pairs=2, evaluators_wanted=1, completion_code="C0DE-7")
    slow, quick = poll_rows.evaluator(poll), poll_rows.evaluator(poll)
    poll_rows.answer(client, slow)
    poll_rows.answer(client, quick), poll_rows.answer(client, quick)
    html = poll_rows.answer(client, slow).content.decode()
    assert "was not counted" in html and "Enough people have answered, so there" in html and "C0DE-7" in html
    assert Vote.objects.count() == 3
    newcomer = poll_rows.evaluator(poll, consented=False)
    html = page(client, newcomer)
    assert "This study is closed" in html and "C0DE-7" not in html
    agree(client, poll, reverse("evaluate_consent", args=[newcomer.token]))
    newcomer.refresh_from_db()
    assert newcomer.consented_at is None


def test_before_the_opening_and_after_withdrawal(client):
    poll = poll_rows.poll(opened=False)
    person = poll_rows.evaluator(poll, consented=False)
    assert "has not opened yet" in page(client, person)
    lifecycle.open_poll(poll)
    poll_enrolment.accept_consent(person)
    poll_rows.answer(client, person)
    leave = reverse("evaluate_leave", args=[person.token])
    assert "Your answers are deleted" in client.get(leave).content.decode() and Vote.objects.exists()
    html = client.post(leave, follow=True).content.decode()
    assert "You have left the study" in html and not Vote.objects.exists()
    assert client.get(leave, follow=True).status_code == 200
    lifecycle.close_poll(poll)
    other = poll_rows.evaluator(poll)
    html = client.post(reverse("evaluate_leave", args=[other.token]), follow=True).content.decode()
    assert "cannot be taken out any more" in html


def test_consent_needs_the_tick_and_the_text_that_stands(client):
    poll = poll_rows.poll()
    person = poll_rows.evaluator(poll, consented=False)
    address = reverse("evaluate_consent", args=[person.token])
    assert "tick the box" in agree(client, poll, address, agree="").content.decode()
    assert "was changed" in agree(client, poll, address, hash="0" * 64).content.decode()
    assert not Showing.objects.exists()


# --- the open link --------------------------------------------------------------------------------------------


def test_the_open_link_enrols_by_agreeing_and_knows_people_again(client):
    poll = poll_rows.poll(recruiting=True)
    address = reverse("join", args=[poll.recruitment_token])
    query = "?" + urlencode({"PROLIFIC_PID": "5f3a0c", "STUDY_ID": "s", "SESSION_ID": "t"})
    html = client.get(address + query).content.decode()
    assert "I have read this" in html and not Evaluator.objects.exists()
    html = agree(client, poll, address + query).content.decode()
    assert "Pair 1 of 1" in html
    person = Evaluator.objects.get()
    assert (person.label, person.external_id) == ("R01", "5f3a0c")
    assert Client().get(address + query).url == person.get_absolute_url()  # another device
    agree(Client(), poll, address + query)
    assert Evaluator.objects.count() == 1
    agree(Client(), poll, address + "?id=another")
    assert Evaluator.objects.count() == 2


def test_without_an_id_the_browser_is_known_again(client):
    poll = poll_rows.poll(recruiting=True)
    address = reverse("join", args=[poll.recruitment_token])
    agree(client, poll, address)
    assert client.get(address).url == Evaluator.objects.get().get_absolute_url()
    assert Client().get(address).status_code == 200


def test_the_open_link_refuses(client, monkeypatch):
    poll = poll_rows.poll(recruiting=True)
    address = reverse("join", args=[poll.recruitment_token])
    for wrong in ("<script>alert(1)</script>", "a b", "x" * 65, "\0"):
        response = client.get(address, {"PROLIFIC_PID": wrong})
        assert response.status_code == 400 and b"alert(1)" not in response.content
        assert agree(client, poll, address + "?" + urlencode({"id": wrong})).status_code == 400
    assert client.put(address).status_code == 405
    monkeypatch.setattr(limits, "JOINS", 0)
    assert agree(client, poll, address).status_code == 429
    assert agree(client, poll, address + "?id=made-up").status_code == 429
    lifecycle.close_poll(poll)
    assert "This study is closed" in client.get(address).content.decode()
    Poll.objects.update(recruiting=False)
    assert client.get(address).status_code == 404
    assert not Evaluator.objects.exists()


# --- bad input ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_foreign_and_altered_links(client):
    person = poll_rows.evaluator(poll_rows.poll())
    for token in ("foreign", person.token[:-1], person.token.swapcase(), "\0", "a" * 3000):
        for name in ("evaluate", "evaluate_leave"):
            assert client.get(reverse(name, args=[token])).status_code == 404
        for name in ("evaluate_vote", "evaluate_consent"):
            assert client.post(reverse(name, args=[token]), {"choice": "left"}).status_code == 404
        assert client.get(reverse("join", args=[token])).status_code == 404
    assert client.get(reverse("evaluate_vote", args=[person.token])).status_code == 405


def test_many_wrong_links_are_slowed_down(client, monkeypatch):
    monkeypatch.setattr(limits, "WRONG_LINKS", 2)
    statuses = [client.get(reverse("evaluate", args=["foreign"])).status_code for _ in range(4)]
    assert statuses == [404, 404, 429, 429]


@pytest.mark.slow
def test_votes_for_others_out_of_order_and_nonsense(client):
    poll = poll_rows.poll(pairs=2)
    person, other = poll_rows.evaluator(poll), poll_rows.evaluator(poll)
    theirs, later = poll_ballot.find_current_showing(other).token, person.showings.last().token
    for fields in ({"showing": theirs}, {"showing": later}, {"showing": "\0"}, {"choice": "first"}, {"choice": "\0"}):
        html = poll_rows.answer(client, person, **fields).content.decode()
        assert 'role="alert"' in html and "Pair 1 of 2" in html
    for nonsense in ("[" * 5000, "{}{}", '{"decide_ms": -1, "plays": true, "load_ms": 1e400}', "null", "\0"):
        assert poll_ballot.cast_vote(person, "", poll_ballot.Answer("left")) == poll_ballot.OUT_OF_DATE
        poll_rows.answer(client, person, client=nonsense, choice="")
    assert not Vote.objects.exists()
    poll_rows.answer(client, person, client='{"decide_ms": 1e400, "plays": 2, "focus_lost": true}')
    assert Vote.objects.get().client == {"plays": 2}


def test_an_oversized_post_is_refused_and_saves_nothing(client):
    person = poll_rows.evaluator(poll_rows.poll())
    address = reverse("evaluate_vote", args=[person.token])
    big = {"showing": poll_ballot.find_current_showing(person).token, "choice": "left", "client": "x" * 3_000_000}
    assert client.post(address, urlencode(big), content_type="application/x-www-form-urlencoded").status_code == 400
    assert client.post(address, {f"f{i}": "" for i in range(1100)}).status_code == 400
    assert not Vote.objects.exists()


def test_a_form_without_its_csrf_token_saves_nothing():
    person = poll_rows.evaluator(poll_rows.poll())
    response = poll_rows.answer(Client(enforce_csrf_checks=True), person)
    assert response.status_code == 403 and not Vote.objects.exists()


@pytest.mark.slow
def test_scripts_in_text_stay_text(client):
    evil = "<script>alert(1)</script>"
    texts = dict.fromkeys(("title", "question", "instructions", "consent_text", "contact", "thanks_text"), evil)
    texts["contact"] += " ada@example.org"  # else it cannot be opened
    poll = poll_rows.poll(**texts, completion_code=evil[:40], hypothesis=evil, evaluators_wanted=1)
    person = poll_rows.evaluator(poll, consented=False)
    seen = [page(client, person)]
    poll_enrolment.accept_consent(person)
    seen.append(page(client, person))
    Pair.objects.update(first_arm=evil, name=evil)
    client.force_login(bench_rows.create_staff())
    seen.append(client.get(poll.get_absolute_url()).content.decode())
    seen.append(poll_rows.answer(client, person).content.decode())
    seen.append(client.post(reverse("votes:unblind", args=[poll.public_id]), follow=True).content.decode())
    seen.append(client.get(f"{poll.get_absolute_url()}preferences.svg").content.decode())
    assert "answered everything" in seen[3] and "Results" in seen[4]
    for html in seen:
        assert "&lt;script&gt;alert(1)" in html and "<script>alert" not in html
    for html in seen[:2]:
        assert not re.search(r"<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=|javascript:", html)
