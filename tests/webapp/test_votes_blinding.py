"""What an evaluator receives tells nothing of what is compared."""

import re

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.test import Client
from django.urls import reverse

from tests.webapp import poll_rows, rows
from tests.webapp.blinding import FORBIDDEN_WORDS, Recorder, leaks, number_from
from tests.webapp.poll_rows import agree, page
from webapp.experiments.models import Clip
from webapp.votes import film_copies, lifecycle, poll_ballot
from webapp.votes.models import Evaluator, Pair, Poll, Showing, Vote

pytestmark = pytest.mark.django_db


# --- clips ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
async def test_no_answer_about_a_clip_tells_which_it_is(async_client):
    poll, addresses = await sync_to_async(_addresses)()
    answers = {}
    for address in addresses:
        for headers in ({}, {"Range": "bytes=0-99"}, {"Range": "bytes=9999999-"}, {"If-None-Match": "x"}):
            response = await async_client.get(address, headers=headers)
            drawn = ("ETag", "X-Request-ID")  # for each address, and for each request
            plain = {name: value for name, value in response.headers.items() if name not in drawn}
            answers.setdefault((address.endswith("/poster/"), tuple(headers.items())), []).append(plain)
            assert "Last-Modified" not in plain and "Content-Disposition" not in plain
    assert len(addresses) == 8 and len(answers) == 8
    for same in answers.values():
        assert len(same) == 4 and all(each == same[0] for each in same)  # sizes included
    await sync_to_async(lifecycle.close_poll)(poll)
    assert (await async_client.get(addresses[0])).status_code == 404


def _addresses():
    poll = poll_rows.poll()
    people = [poll_rows.evaluator(poll) for _ in range(2)]
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
    poll = poll_rows.poll()
    pair = poll.pairs.get()
    files = [
        settings.DATA_DIR / "media" / film_copies.make_copy_name(file, "mp4")
        for file in (pair.first_file, pair.second_file)
    ]
    first, second = (file.read_bytes() for file in files)
    found = {}
    for _ in range(2):
        showing = poll_rows.evaluator(poll).showings.get()
        found[showing.left_token] = first if showing.first_left else second
        found[showing.right_token] = second if showing.first_left else first
    return found


# --- blinding -------------------------------------------------------------------------------------------------


def walk(browser, poll):
    """Every page and message that an evaluator can get to."""
    person = poll_rows.evaluator(poll, consented=False)
    browser.get(person.get_absolute_url())
    agree(browser, poll, reverse("evaluate_consent", args=[person.token]), agree="")
    agree(browser, poll, reverse("evaluate_consent", args=[person.token]))
    for fields in ({"showing": "x"}, {"choice": "x"}, {"strength": ""}, {"choice": "left"}, {"choice": "same"}):
        poll_rows.answer(browser, person, **{"strength": "2", **fields})
    showing = person.showings.first()
    browser.post(reverse("evaluate_vote", args=[person.token]), {"showing": showing.token, "choice": "x"}, follow=True)
    undo = reverse("evaluate_undo", args=[person.token])
    for token in (showing.token, showing.token, "altered"):
        browser.post(undo, {"showing": token}, follow=True)
    while current := poll_ballot.find_current_showing(person):
        poll_rows.answer(browser, person, strength="1")
        browser.post(undo, {"showing": current.token}, follow=True)
        poll_rows.answer(browser, person, strength="1")
    browser.get(reverse("evaluate_leave", args=[person.token]))
    browser.get(reverse("join", args=[poll.recruitment_token]))
    gone = poll_rows.evaluator(poll)
    browser.post(reverse("evaluate_leave", args=[gone.token]), follow=True)
    late = poll_rows.evaluator(poll)
    lifecycle.close_poll(poll)
    for someone in (late, person):
        poll_rows.answer(browser, someone)
        browser.post(reverse("evaluate_leave", args=[someone.token]), follow=True)
    browser.get(reverse("evaluate", args=["foreign"]))


def secrets_of(poll):
    pairs = list(poll.pairs.all())
    mine = {"evaluator__poll": poll}
    votes = Vote.objects.filter(showing__evaluator__poll=poll)
    clips = [clip for pair in pairs for clip in (pair.first, pair.second) if clip]
    keys = [poll, *pairs, *clips, *poll.evaluators.all(), *Showing.objects.filter(**mine), *votes]
    files = [file for pair in pairs for file in (pair.first_file, pair.second_file)]
    return {
        "method": [r"(?i)\bicpl\b", r"(?i)open_?loop"],
        "experiment": ["sentinel_experiment", *(str(p.origin[side]["experiment"]) for p in pairs for side in p.origin)],
        "name of a pair": ["sentinel_pair", *(re.escape(p.name) for p in pairs)],
        "hypothesis": ["sentinel_hypothesis", "Holm", "binomial"],
        "attention check": [r"(?i)attention", r"(?i)\bgold\b", r"(?i)\bcheck_"],
        "score": [str(rows.RTS)[:6], str(rows.FINAL_SCORE)[:6]],
        "seed": [str(rows.SEED), str(poll.seed)],
        "source": ["sentinel_source"],
        "file": [part for file in files for part in (str(file), file.hex)],
        "poll": [str(poll.public_id)],
        "primary key": [rf"\b{row.pk}\b" for row in keys],
    }


@pytest.fixture
def blinded_poll():
    """A poll whose rows have ids far from the small numbers that a page may rightly show."""
    other = poll_rows.evaluator(poll_rows.poll())
    poll_rows.vote_for(other, "ICPL")
    for number, table in enumerate((Poll, Pair, Showing, Clip, Evaluator, Vote), 2):
        number_from(table, 100_001 * number)
    poll = poll_rows.poll(pairs=2, opened=False, allow_tie=True, ask_strength=True, recruiting=True, repeats=1)
    poll.pairs.filter(position=1).update(name="sentinel_pair")
    poll_rows.add_check(poll)
    poll_rows.add_check(poll, "same", name="sentinel_pair two")
    assert lifecycle.open_poll(poll) == []
    poll.refresh_from_db()
    return poll


@pytest.mark.slow
def test_no_page_no_header_tells_what_is_compared(blinded_poll):
    browser = Recorder()
    walk(browser, blinded_poll)
    assert len(browser.received) > 25
    secrets = secrets_of(blinded_poll)
    assert len(secrets["primary key"]) > 10 and all(len(key) > 9 for key in secrets["primary key"])
    assert leaks(browser.received, secrets) == []
    everything = "".join(text for _, text in browser.received)
    for planted in (
        "Pair 5 of 5",
        "Take back the last answer",
        "not counted",
        "Thank you",
        "You have left the study",
        "leads nowhere",
    ):
        assert planted in everything, planted
    for _, text in browser.received:
        visible = re.sub(r"<[^>]+>", " ", text.partition("}\n")[2])
        assert not re.findall(FORBIDDEN_WORDS, visible, flags=re.I)


def test_the_search_finds_what_is_planted(blinded_poll):
    pair = blinded_poll.pairs.first()
    for planted in (
        pair.name,
        pair.first_arm,
        "open_loop",
        pair.pk,
        pair.first.pk,
        pair.first_file,
        blinded_poll.seed,
        rows.SEED,
    ):
        assert leaks([("/", f"<p>{planted}</p>")], secrets_of(blinded_poll)), planted


def test_two_evaluators_with_opposite_sides_receive_the_same_but_for_tokens(client):
    poll = poll_rows.poll()
    people = [poll_rows.evaluator(poll) for _ in range(2)]
    assert people[0].showings.get().first_left != people[1].showings.get().first_left

    def received(person):
        html = page(Client(), person)
        showing = person.showings.get()
        for name in ("token", "left_token", "right_token"):
            html = html.replace(getattr(showing, name), name)
        html = html.replace(person.token, "person")
        return re.sub(r'csrfmiddlewaretoken" value="\w+"', "", html)

    assert received(people[0]) == received(people[1])
