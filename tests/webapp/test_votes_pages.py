"""A/B votes: the pages of evaluators and of experimenters, what they refuse, and that nothing tells A from B."""

import re
from pathlib import Path
from urllib.parse import urlencode

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from tests.webapp import boards, polls, rows
from tests.webapp.test_blinding import FORBIDDEN_WORDS, Recorder, _number_from, leaks
from webapp.experiments.models import Clip
from webapp.studies import limits
from webapp.votes import ballot, enrolment, opening
from webapp.votes.models import Evaluator, Pair, Poll, Showing, Vote

pytestmark = pytest.mark.django_db


def page(browser, person):
    return browser.get(person.get_absolute_url()).content.decode()


def agree(browser, poll, address, **fields):
    return browser.post(address, {"hash": poll.consent_hash, "agree": "yes", **fields}, follow=True)


# --- an evaluator's way ---------------------------------------------------------------------------------------


def test_from_consent_to_thanks(client):
    poll = polls.poll(pairs=2, completion_code="C0DE-7", completion_url="https://recruit.example/complete?cc=C0DE-7")
    person = polls.evaluator(poll, consented=False)
    assert "I have read this" in page(client, person)
    html = agree(client, poll, reverse("evaluate_consent", args=[person.token])).content.decode()
    assert "Pair 1 of 2" in html and html.count("<video") == 2 and "C0DE-7" not in html
    assert "Pair 2 of 2" in polls.answer(client, person).content.decode()
    response = polls.answer(client, person)
    html = response.content.decode()
    assert "You have answered everything" in html and "C0DE-7" in html and Vote.objects.count() == 2
    assert "no-store" in response["Cache-Control"]
    person.refresh_from_db()
    assert person.finished_at and person.consent_hash == poll.consent_hash


def test_double_click_and_reload_are_one_vote(client):
    person = polls.evaluator(polls.poll(pairs=2))
    data = {"showing": ballot.current(person).token, "choice": "right", "client": '{"decide_ms": 900, "x": 1}'}
    for _ in range(2):
        html = client.post(reverse("evaluate_vote", args=[person.token]), data, follow=True).content.decode()
        assert "Pair 2 of 2" in html and 'role="alert"' not in html
    assert Vote.objects.get().client == {"decide_ms": 900}
    assert "Pair 2 of 2" in page(Client(), person)  # on another device


def test_a_page_read_while_the_last_answer_arrives_says_thank_you(client):
    person = polls.evaluator(polls.poll())
    Vote.objects.create(showing=ballot.current(person), choice="left")
    assert "You have answered everything" in page(client, person)


def test_n_is_reached_while_somebody_votes(client):
    poll = polls.poll(pairs=2, evaluators_wanted=1, completion_code="C0DE-7")
    slow, quick = polls.evaluator(poll), polls.evaluator(poll)
    polls.answer(client, slow)
    polls.answer(client, quick), polls.answer(client, quick)
    html = polls.answer(client, slow).content.decode()
    assert "was not counted" in html and "Enough people have answered meanwhile" in html and "C0DE-7" in html
    assert Vote.objects.count() == 3
    newcomer = polls.evaluator(poll, consented=False)
    html = page(client, newcomer)
    assert "This study is closed" in html and "C0DE-7" not in html
    agree(client, poll, reverse("evaluate_consent", args=[newcomer.token]))
    newcomer.refresh_from_db()
    assert newcomer.consented_at is None


def test_before_the_opening_and_after_withdrawal(client):
    poll = polls.poll(opened=False)
    person = polls.evaluator(poll, consented=False)
    assert "has not opened yet" in page(client, person)
    opening.open_poll(poll)
    enrolment.consent(person)
    polls.answer(client, person)
    leave = reverse("evaluate_leave", args=[person.token])
    assert "Your answers are deleted" in client.get(leave).content.decode() and Vote.objects.exists()
    html = client.post(leave, follow=True).content.decode()
    assert "You have left the study" in html and not Vote.objects.exists()
    assert client.get(leave, follow=True).status_code == 200
    opening.close(poll)
    other = polls.evaluator(poll)
    html = client.post(reverse("evaluate_leave", args=[other.token]), follow=True).content.decode()
    assert "cannot be taken out any more" in html


def test_consent_needs_the_tick_and_the_text_that_stands(client):
    poll = polls.poll()
    person = polls.evaluator(poll, consented=False)
    address = reverse("evaluate_consent", args=[person.token])
    assert "tick the box" in agree(client, poll, address, agree="").content.decode()
    assert "was changed" in agree(client, poll, address, hash="0" * 64).content.decode()
    assert not Showing.objects.exists()


# --- the open link --------------------------------------------------------------------------------------------


def test_the_open_link_enrols_by_agreeing_and_knows_people_again(client):
    poll = polls.poll(recruiting=True)
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
    poll = polls.poll(recruiting=True)
    address = reverse("join", args=[poll.recruitment_token])
    agree(client, poll, address)
    assert client.get(address).url == Evaluator.objects.get().get_absolute_url()
    assert Client().get(address).status_code == 200


def test_the_open_link_refuses(client, monkeypatch):
    poll = polls.poll(recruiting=True)
    address = reverse("join", args=[poll.recruitment_token])
    for wrong in ("<script>alert(1)</script>", "a b", "x" * 65, "\0"):
        response = client.get(address, {"PROLIFIC_PID": wrong})
        assert response.status_code == 400 and b"alert(1)" not in response.content
        assert agree(client, poll, address + "?" + urlencode({"id": wrong})).status_code == 400
    assert client.put(address).status_code == 405
    monkeypatch.setattr(limits, "JOINS", 0)
    assert agree(client, poll, address).status_code == 429
    assert agree(client, poll, address + "?id=made-up").status_code == 429
    opening.close(poll)
    assert "This study is closed" in client.get(address).content.decode()
    Poll.objects.update(recruiting=False)
    assert client.get(address).status_code == 404
    assert not Evaluator.objects.exists()


# --- bad input ------------------------------------------------------------------------------------------------


def test_foreign_and_altered_links(client):
    person = polls.evaluator(polls.poll())
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


def test_votes_for_others_out_of_order_and_nonsense(client):
    poll = polls.poll(pairs=2)
    person, other = polls.evaluator(poll), polls.evaluator(poll)
    theirs, later = ballot.current(other).token, person.showings.last().token
    for fields in ({"showing": theirs}, {"showing": later}, {"showing": "\0"}, {"choice": "first"}, {"choice": "\0"}):
        html = polls.answer(client, person, **fields).content.decode()
        assert 'role="alert"' in html and "Pair 1 of 2" in html
    for nonsense in ("[" * 5000, "{}{}", '{"decide_ms": -1, "plays": true, "load_ms": 1e400}', "null", "\0"):
        assert ballot.cast(person, "", ballot.Answer("left")) == ballot.OUT_OF_DATE
        polls.answer(client, person, client=nonsense, choice="")
    assert not Vote.objects.exists()
    polls.answer(client, person, client='{"decide_ms": 1e400, "plays": 2, "focus_lost": true}')
    assert Vote.objects.get().client == {"plays": 2}


def test_an_oversized_post_is_refused_and_saves_nothing(client):
    person = polls.evaluator(polls.poll())
    address = reverse("evaluate_vote", args=[person.token])
    big = {"showing": ballot.current(person).token, "choice": "left", "client": "x" * 3_000_000}
    assert client.post(address, urlencode(big), content_type="application/x-www-form-urlencoded").status_code == 400
    assert client.post(address, {f"f{i}": "" for i in range(1100)}).status_code == 400
    assert not Vote.objects.exists()


def test_a_form_without_its_csrf_token_saves_nothing():
    person = polls.evaluator(polls.poll())
    response = polls.answer(Client(enforce_csrf_checks=True), person)
    assert response.status_code == 403 and not Vote.objects.exists()


def test_scripts_in_text_stay_text(client):
    evil = "<script>alert(1)</script>"
    texts = dict.fromkeys(("title", "question", "instructions", "consent_text", "contact", "thanks_text"), evil)
    poll = polls.poll(**texts, completion_code=evil[:40], hypothesis=evil, evaluators_wanted=1)
    person = polls.evaluator(poll, consented=False)
    seen = [page(client, person)]
    enrolment.consent(person)
    seen.append(page(client, person))
    Pair.objects.update(first_arm=evil)
    client.force_login(boards.staff())
    seen.append(client.get(poll.get_absolute_url()).content.decode())
    seen.append(polls.answer(client, person).content.decode())
    seen.append(client.post(reverse("votes:unblind", args=[poll.public_id]), follow=True).content.decode())
    seen.append(client.get(f"{poll.get_absolute_url()}preferences.svg").content.decode())
    assert "answered everything" in seen[3] and "Results" in seen[4]
    for html in seen:
        assert "&lt;script&gt;alert(1)" in html and "<script>alert" not in html
    for html in seen[:2]:
        assert not re.search(r"<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=|javascript:", html)


# --- clips ----------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
async def test_no_answer_about_a_clip_tells_which_it_is(async_client):
    poll, addresses = await sync_to_async(_addresses)()
    answers = {}
    for address in addresses:
        for headers in ({}, {"Range": "bytes=0-99"}, {"Range": "bytes=9999999-"}, {"If-None-Match": "x"}):
            response = await async_client.get(address, headers=headers)
            plain = {name: value for name, value in response.headers.items() if name != "ETag"}
            answers.setdefault((address.endswith("/poster/"), tuple(headers.items())), []).append(plain)
            assert "Last-Modified" not in plain and "Content-Disposition" not in plain
    assert len(addresses) == 8 and len(answers) == 8
    for same in answers.values():
        assert len(same) == 4 and all(each == same[0] for each in same)  # sizes included
    await sync_to_async(opening.close)(poll)
    assert (await async_client.get(addresses[0])).status_code == 404


def _addresses():
    poll = polls.poll()
    people = [polls.evaluator(poll) for _ in range(2)]
    tokens = [token for person in people for s in person.showings.all() for token in (s.left_token, s.right_token)]
    return poll, [reverse(name, args=[token]) for token in tokens for name in ("pair_clip", "pair_poster")]


@pytest.mark.django_db(transaction=True)
async def test_the_file_is_that_of_the_side(async_client):
    """Whichever side it is on, the ticket leads to the clip that the vote is then counted for."""
    expected = await sync_to_async(_expected)()
    for token, content in expected.items():
        response = await async_client.get(reverse("pair_clip", args=[token]))
        assert b"".join([part async for part in response.streaming_content]) == content
    assert len(expected) == 4 and len(set(expected.values())) == 2


def _expected():
    poll = polls.poll()
    pair = poll.pairs.get()
    files = [Path(settings.MEDIA_ROOT) / opening.copy_name(file, "mp4") for file in (pair.first_file, pair.second_file)]
    first, second = (file.read_bytes() for file in files)
    found = {}
    for _ in range(2):
        showing = polls.evaluator(poll).showings.get()
        found[showing.left_token] = first if showing.first_left else second
        found[showing.right_token] = second if showing.first_left else first
    return found


# --- blinding -------------------------------------------------------------------------------------------------


def walk(browser, poll):
    """Every page and message that an evaluator can get to."""
    person = polls.evaluator(poll, consented=False)
    browser.get(person.get_absolute_url())
    agree(browser, poll, reverse("evaluate_consent", args=[person.token]), agree="")
    agree(browser, poll, reverse("evaluate_consent", args=[person.token]))
    for fields in ({"showing": "x"}, {"choice": "x"}, {"strength": ""}, {"choice": "left"}, {"choice": "same"}):
        polls.answer(browser, person, **{"strength": "2", **fields})
    showing = person.showings.first()
    browser.post(reverse("evaluate_vote", args=[person.token]), {"showing": showing.token, "choice": "x"}, follow=True)
    polls.answer(browser, person, strength="1")
    browser.get(reverse("evaluate_leave", args=[person.token]))
    browser.get(reverse("join", args=[poll.recruitment_token]))
    gone = polls.evaluator(poll)
    browser.post(reverse("evaluate_leave", args=[gone.token]), follow=True)
    late = polls.evaluator(poll)
    opening.close(poll)
    for someone in (late, person):
        polls.answer(browser, someone)
        browser.post(reverse("evaluate_leave", args=[someone.token]), follow=True)
    browser.get(reverse("evaluate", args=["foreign"]))


def secrets_of(poll):
    pairs = list(poll.pairs.all())
    mine = {"evaluator__poll": poll}
    votes = Vote.objects.filter(showing__evaluator__poll=poll)
    clips = [clip for pair in pairs for clip in (pair.first, pair.second)]
    keys = [poll, *pairs, *clips, *poll.evaluators.all(), *Showing.objects.filter(**mine), *votes]
    files = [file for pair in pairs for file in (pair.first_file, pair.second_file)]
    return {
        "method": [r"(?i)\bicpl\b", r"(?i)open_?loop"],
        "experiment": ["sentinel_experiment", *(str(p.origin[side]["experiment"]) for p in pairs for side in p.origin)],
        "hypothesis": ["sentinel_hypothesis", "Holm", "binomial"],
        "score": [str(rows.RTS)[:6], str(rows.FINAL_SCORE)[:6]],
        "seed": [str(rows.SEED), str(poll.seed)],
        "source": ["sentinel_source"],
        "file": [part for file in files for part in (str(file), file.hex)],
        "poll": [str(poll.public_id)],
        "primary key": [rf"\b{row.pk}\b" for row in keys],
    }


@pytest.fixture
def blinded():
    """A poll whose rows have ids far from the small numbers that a page may rightly show."""
    other = polls.evaluator(polls.poll())
    polls.prefer(other, "ICPL")
    for number, table in enumerate((Poll, Pair, Showing, Clip, Evaluator, Vote), 2):
        _number_from(table, 100_001 * number)
    return polls.poll(pairs=2, allow_tie=True, ask_strength=True, recruiting=True)


def test_no_page_no_header_tells_what_is_compared(blinded):
    browser = Recorder()
    walk(browser, blinded)
    assert len(browser.received) > 25
    secrets = secrets_of(blinded)
    assert len(secrets["primary key"]) > 10 and all(len(key) > 9 for key in secrets["primary key"])
    assert leaks(browser.received, secrets) == []
    everything = "".join(text for _, text in browser.received)
    for planted in ("Pair 2 of 2", "not counted", "Thank you", "You have left the study", "leads nowhere"):
        assert planted in everything, planted
    for _, text in browser.received:
        visible = re.sub(r"<[^>]+>", " ", text.partition("}\n")[2])
        assert not re.findall(FORBIDDEN_WORDS, visible, flags=re.I)


def test_the_search_finds_what_is_planted(blinded):
    pair = blinded.pairs.first()
    for planted in (pair.first_arm, "open_loop", pair.pk, pair.first.pk, pair.first_file, blinded.seed, rows.SEED):
        assert leaks([("/", f"<p>{planted}</p>")], secrets_of(blinded)), planted


def test_two_evaluators_with_opposite_sides_receive_the_same_but_for_tokens(client):
    poll = polls.poll()
    people = [polls.evaluator(poll) for _ in range(2)]
    assert people[0].showings.get().first_left != people[1].showings.get().first_left

    def received(person):
        html = page(Client(), person)
        showing = person.showings.get()
        for name in ("token", "left_token", "right_token"):
            html = html.replace(getattr(showing, name), name)
        html = html.replace(person.token, "person")
        return re.sub(r'csrfmiddlewaretoken" value="\w+"', "", html)

    assert received(people[0]) == received(people[1])


# --- experimenters --------------------------------------------------------------------------------------------


def test_results_are_sealed_until_it_is_closed(client):
    poll = polls.poll(pairs=3, evaluators_wanted=2)
    address = poll.get_absolute_url()
    client.force_login(boards.staff())
    for word in ("ICPL", "OpenLoop"):
        html = client.get(address).content.decode()
        assert "Results</h2>" not in html and "How many evaluators?" in html
        assert client.get(f"{address}votes.csv").status_code == 403
        assert client.get(f"{address}preferences.svg").status_code == 403
        person = polls.evaluator(poll)
        while ballot.current(person):
            polls.prefer(person, word)
    html = client.get(address).content.decode()
    assert "Nobody has looked at them yet" in html and "Bayesian mean" not in html
    assert client.get(f"{address}votes.csv").status_code == 403
    poll.refresh_from_db()
    assert poll.unblinded_at is None
    html = client.post(reverse("votes:unblind", args=[poll.public_id]), follow=True).content.decode()
    assert "Results</h2>" in html and "Over all pairs" in html and poll.plan_hash in html
    poll.refresh_from_db()
    assert poll.unblinded_by == "ada" and poll.unblinded_at
    assert client.get(f"{address}arms.svg")["Content-Type"] == "image/svg+xml"
    assert len(client.get(f"{address}votes.csv").content.decode().splitlines()) == 7
    assert client.get(f"{address}nothing.svg").status_code == 404


def test_opening_closing_and_inviting_by_the_page(client):
    poll = polls.poll(opened=False)
    address = poll.get_absolute_url()
    client.force_login(boards.staff())

    def post(name, **fields):
        return client.post(reverse(f"votes:{name}", args=[poll.public_id]), fields, follow=True).content.decode()

    assert "Added E01 to E03" in post("invite", count=3) and "between 1 and" in post("invite", count=0)
    assert "Fix the plan and open" in client.get(address).content.decode()
    assert "Open. The plan" in post("open") and "opened before" in post("open")
    assert "Tick the box" in post("close")
    html = post("close", sure="yes")
    assert "early, by ada" in html
    assert "Closed early: 0 of the planned 20" in post("unblind")
    assert "was not open" in post("close", sure="yes") and "nobody else can vote" in post("invite", count=1)
    assert poll.title in client.get(reverse("votes:index")).content.decode()


def test_power_before_the_start(client):
    poll = polls.poll(pairs=1, opened=False)
    client.force_login(boards.staff())
    html = client.get(poll.get_absolute_url()).content.decode()
    row = re.search(r"20 \(planned\)</th>(.*?)</tr>", html)[1]
    assert re.findall(r"<td>([\d.]+)</td>", row)[4] == "0.80"  # 80% prefer it
    assert "evaluators" in client.get(f"{poll.get_absolute_url()}power.csv").content.decode()
    assert client.get(f"{poll.get_absolute_url()}power.svg").content.startswith(b"<svg")
    assert client.get(f"{poll.get_absolute_url()}power.png").status_code == 404


def test_only_staff(client):
    poll = polls.poll()
    addresses = [poll.get_absolute_url(), reverse("votes:index"), f"{poll.get_absolute_url()}power.svg"]
    for user in (None, User.objects.create(username="eve")):
        if user:
            client.force_login(user)
        for address in addresses:
            assert "/admin/login/" in client.get(address).url
        for name in ("open", "close", "invite"):
            client.post(reverse(f"votes:{name}", args=[poll.public_id]), {"sure": "yes", "count": 1})
    assert Poll.objects.get().status == "open" and not Evaluator.objects.exists()


def admin_form(first, second, **values):
    fields = {
        **{"title": "Walks", "contact": "ada", "question": "Which?", "instructions": "Look.", "evaluators_wanted": 20},
        **{"alpha": "0.05", "correction": "holm", "consent_text": "Free.", "consent_version": "1"},
        **{"pairs-TOTAL_FORMS": 1, "pairs-INITIAL_FORMS": 0},
        **{"pairs-0-first": first.pk, "pairs-0-second": second.pk, "pairs-0-first_arm": "", "pairs-0-second_arm": ""},
    }
    return {**fields, **values}


def test_setting_up_in_the_admin(client):
    client.force_login(boards.staff())
    first, second = polls.winner("ICPL"), polls.winner("OpenLoop")
    add = reverse("admin:votes_poll_add")
    assert "winner of sentinel_experiment ICPL 1 (ICPL, Ant)" in client.get(add).content.decode()
    html = client.post(add, admin_form(first, second, alpha="3")).content.decode()
    assert "less than or equal to 0.2" in html and not Poll.objects.exists()
    response = client.post(add, admin_form(first, second))
    poll = Poll.objects.get()
    assert response.url == poll.get_absolute_url()
    assert str(poll.pairs.get()) == "ICPL against OpenLoop"
    change = reverse("admin:votes_poll_change", args=[poll.pk])
    assert 'name="alpha"' in client.get(change).content.decode()
    assert opening.open_poll(poll) == []
    html = client.get(change).content.decode()
    assert 'name="alpha"' not in html and 'name="pairs-0-first"' not in html and 'name="contact"' in html
    client.post(change, admin_form(second, first, alpha="0.2", contact="bob", question="Other?"))
    poll.refresh_from_db()
    assert (poll.alpha, poll.contact, poll.question) == (0.05, "bob", "Which?")
    assert poll.pairs.get().first == first
    assert client.post(reverse("admin:votes_poll_delete", args=[poll.pk]), {"post": "yes"}).status_code == 403
    draft = polls.poll(pairs=2, opened=False)
    polls.evaluator(draft, consented=False)
    client.post(reverse("admin:votes_poll_delete", args=[draft.pk]), {"post": "yes"})
    assert list(Poll.objects.all()) == [poll]
