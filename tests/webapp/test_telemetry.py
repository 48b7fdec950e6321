"""A page's report of how it was watched: known keys, whole numbers, bounded for every sender."""

import json

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.webapp import rows
from webapp.review import telemetry
from webapp.review.models import Screening, Trial, Viewing, Vote
from webapp.review.screenings import LETTERS, find_screening

HOSTILE = [
    "",
    "nonsense",
    "[1]",
    "null",
    "true",
    "{",
    "[" * 5000,
    '{"plays":' * 1500,
    '{"plays": 1e999}',
    '{"plays": "1"}',
    '{"plays": true}',
    '{"plays": -1}',
    '{"plays": 1.5}',
    '{"plays": 9007199254740992}',
    '{"plays": ' + "9" * 5000 + "}",
    '{"plays": [1]}',
    '{"name": 1, "userAgent": "x", "__proto__": {"plays": 1}}',
    '{"clips": []}',
    '{"plays": 1, "clips": "' + "x" * telemetry.MOST_BYTES + '"}',
    "\0",
    '{"plays\0": 1}',
]
GOOD = {
    "started_ms": 1_790_000_000_000,
    "decide_ms": 5200,
    "plays": 3,
    "clips": {"A": {"watched_ms": 5100, "replays": 1}, "B": {"watched_ms": 0}},
}


@pytest.mark.parametrize("text", HOSTILE)
def test_what_no_page_sends_is_not_kept(text):
    assert telemetry.parse_telemetry(text) == {}


@pytest.mark.parametrize(
    "clips",
    ['{"AB": {"watched_ms": 1}}', '{"1": {"watched_ms": 1}}', '{"": {"watched_ms": 1}}', '{"A": 1}', '{"A": [1]}'],
)
def test_of_videos_that_were_not_shown_nothing_is_kept(clips):
    assert telemetry.parse_telemetry(f'{{"plays": 2, "clips": {clips}}}') == {"plays": 2, "clips": {}}


def test_what_a_page_sends_is_kept_as_it_is():
    assert telemetry.parse_telemetry(json.dumps(GOOD)) == GOOD
    extra = {**GOOD, "user_agent": 7, "clips": {**GOOD["clips"], "A": {**GOOD["clips"]["A"], "ip": 1}}}
    assert telemetry.parse_telemetry(json.dumps(extra)) == GOOD


def test_the_longest_account_fits_and_is_bounded():
    most = 2**53 - 1
    clip = dict.fromkeys(telemetry.CLIP_KEYS, most)
    account = {**dict.fromkeys(telemetry.KEYS, most), "clips": dict.fromkeys(LETTERS[:20], clip)}
    text = json.dumps(account, separators=(",", ":"))
    assert len(text) <= telemetry.MOST_BYTES
    assert telemetry.parse_telemetry(text) == account


def test_nothing_that_tells_who_it_is():
    assert not {"user_agent", "language", "time_zone", "screen", "address"} & {*telemetry.KEYS, *telemetry.CLIP_KEYS}


# --- kept beside the screening ----------------------------------------------------------------------------------


@pytest.fixture
def person(db):
    person = rows.participant()
    rows.create_round(person)
    rows.open_judgement(person)
    return person


@pytest.fixture
def screening(person):
    return find_screening(rows.Request.objects.get(), person)


def tell(browser, person, token, sitting="0123456789abcdef", **account):
    fields = {"screening": token, "sitting": sitting, "client": json.dumps({**GOOD, **account})}
    return browser.post(reverse("viewing", args=[person.token]), fields)


def test_the_newest_account_of_each_opened_page(client, person, screening):
    for plays in (1, 2):
        assert tell(client, person, screening.token, plays=plays).status_code == 204
    tell(client, person, screening.token, sitting="another")
    assert sorted(Viewing.objects.values_list("sitting", "data__plays")) == [("0123456789abcdef", 2), ("another", 3)]
    assert Viewing.objects.first().started_at <= timezone.now()


@pytest.mark.slow
def test_a_page_that_reloads_for_ever_fills_nothing(client, person, screening):
    for number in range(telemetry.MOST_SITTINGS + 5):
        assert tell(client, person, screening.token, sitting=str(number)).status_code == 204
    assert Viewing.objects.count() == telemetry.MOST_SITTINGS
    tell(client, person, screening.token, sitting="3", plays=99)
    assert Viewing.objects.get(sitting="3").data["plays"] == 99


@pytest.mark.parametrize("sitting", ["", "\0", "x" * 5000, "é" * 40, "<script>"])
def test_any_sitting(client, person, screening, sitting):
    assert tell(client, person, screening.token, sitting=sitting).status_code == 204
    assert all(len(viewing.sitting) <= 16 for viewing in Viewing.objects.all())


@pytest.mark.parametrize("text", ["", "\0", "[" * 5000])
def test_hostile_accounts_break_nothing(client, person, screening, text):
    fields = {"screening": screening.token, "sitting": "1", "client": text}
    assert client.post(reverse("viewing", args=[person.token]), fields).status_code == 204
    assert not Viewing.objects.exists()
    client.post(reverse("vote", args=[person.token]), {**fields, "best": "A", "worst": "B"})
    assert Vote.objects.get().client == {"enough": 0}, "and is flagged"


@pytest.mark.parametrize("token", ["", "nobody", "\0"])
def test_a_page_that_is_not_known(client, person, token):
    assert tell(client, person, token).status_code == 404


def test_somebody_elses_page(client, person, screening):
    other = rows.participant(label="P08")
    assert tell(client, other, screening.token).status_code == 404
    assert not Viewing.objects.exists()


def test_nothing_of_somebody_who_left(client, person, screening):
    person.withdrawn_at = timezone.now()
    person.save()
    assert tell(client, person, screening.token).status_code == 404
    assert not Viewing.objects.exists()


def test_a_trial_is_watched_like_a_round(client, person, screening):
    trial = Trial.objects.create(participant=person, kind="attention", number=0, round=1, seed=1, order=screening.order)
    tell(client, person, trial.token)
    assert Viewing.objects.get().trial == trial and not Viewing.objects.exclude(screening=None).exists()


def test_it_goes_with_the_person(client, person, screening):
    tell(client, person, screening.token)
    Screening.objects.all().delete()
    assert not Viewing.objects.exists()


def test_a_vote_keeps_how_it_was_watched(client, person, screening):
    fields = {"screening": screening.token, "best": "A", "worst": "B", "client": json.dumps(GOOD)}
    client.post(reverse("vote", args=[person.token]), fields)
    assert Vote.objects.get().client == telemetry.WATCH_UNKNOWN | GOOD
