"""A participant's pages: one address, one page per state, and what is said where something is wrong."""

import gzip
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.urls import reverse
from django.utils import timezone

from tests.webapp import rows
from webapp.experiments import loop
from webapp.experiments.models import Clip, Event, Experiment, Job, Request
from webapp.review import ballot
from webapp.review.models import ClipTicket, Vote
from webapp.review.screenings import find_screening
from webapp.studies import opening
from webapp.studies.models import CompletionCode, Outcome, Participant, Study
from webapp.studio import words

pytestmark = pytest.mark.django_db


def page(client, person):
    html = client.get(person.get_absolute_url()).content.decode()
    return re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)


def live(client, person, version=""):
    return client.get(reverse("live", args=[person.token]), {"version": version}, headers={"HX-Request": "true"})


def version_of(html):
    return re.search(r"\?version=(\w+)", html)[1]


# --- links ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["studio", "live", "leave"])
def test_a_foreign_link(client, name):
    response = client.get(reverse(name, args=["nobody-has-this-link"]))
    assert response.status_code == 404
    assert "This link leads nowhere" in response.content.decode()


@pytest.mark.parametrize("name", ["consent", "ready", "vote", "undo", "report"])
def test_a_foreign_link_cannot_post(client, name):
    assert client.post(reverse(name, args=["nobody-has-this-link"])).status_code == 404


@pytest.mark.parametrize("status, says", [("draft", "has not opened yet"), ("closed", "This study is closed")])
def test_a_study_that_is_not_open(client, status, says):
    person = rows.participant(rows.study(status=status), consented=False)
    assert says in page(client, person)


def test_pages_are_never_cached_or_indexed(client):
    response = client.get(rows.participant().get_absolute_url())
    assert "no-store" in response["Cache-Control"]
    assert '<meta name="robots" content="noindex">' in response.content.decode()


# --- consent --------------------------------------------------------------------------------------------------


@pytest.fixture
def newcomer():
    return rows.participant(consented=False)


def agree(client, person, **data):
    fields = {"hash": person.study.consent_hash, "agree": "yes", **data}
    return client.post(reverse("consent", args=[person.token]), fields, follow=True).content.decode()


def test_consent_is_stored_and_starts_the_experiment_once(client, newcomer):
    assert newcomer.study.consent_text.split("\n")[0] in page(client, newcomer)
    for _ in range(2):
        assert "How it works" in agree(client, newcomer)
    newcomer.refresh_from_db()
    assert newcomer.consented_at
    assert newcomer.consent_hash == newcomer.study.consent_hash and newcomer.consent_version == "1"
    assert newcomer.experiment.status == Experiment.Status.RUNNING
    assert Event.objects.filter(kind="started").count() == 1


def test_consent_needs_the_tick(client, newcomer):
    assert "tick the box" in agree(client, newcomer, agree="")
    newcomer.refresh_from_db()
    assert newcomer.consented_at is None and not Job.objects.exists()


def test_consent_to_a_text_that_has_changed_since(client, newcomer):
    Study.objects.update(consent_text="Something else.")
    assert "The text was changed while you were reading" in agree(client, newcomer)
    newcomer.refresh_from_db()
    assert newcomer.consented_at is None


def test_consent_makes_the_experiment_of_an_invited_person(client):
    invited = Participant.objects.create(study=rows.study(), label="P01")
    assert "I have read this" in page(client, invited)
    agree(client, invited)
    assert invited.experiment.status == Experiment.Status.RUNNING


@pytest.mark.slow
def test_somebody_whose_experiment_was_deleted_begins_again(client, newcomer):
    agree(client, newcomer)
    Experiment.objects.all().delete()
    Study.objects.update(consent_version="2")
    newcomer = Participant.objects.get()
    assert "I have read this" in page(client, newcomer)
    agree(client, newcomer)
    newcomer = Participant.objects.get()
    assert newcomer.consent_version == "2"
    assert newcomer.experiment.status == Experiment.Status.RUNNING


def test_instruction_is_shown_once(client, newcomer):
    agree(client, newcomer)
    response = client.post(reverse("ready", args=[newcomer.token]), follow=True)
    assert "The robots are getting ready" in response.content.decode()


# --- waiting --------------------------------------------------------------------------------------------------


@pytest.fixture
def waiting_person():
    person = rows.participant()
    rows.create_round(person, percent=10)
    request = rows.open_training(person)
    progress = {"fraction": 0.5, "seconds_left": 100, "candidates": []}
    Job.objects.create(experiment=person.experiment, request=request, kind="train", status="running", progress=progress)
    Experiment.objects.update(preset="long")  # no training of it is known, so its own speed counts
    return person


def test_waiting_shows_progress_and_practice(client, waiting_person):
    html = page(client, waiting_person)
    assert "Six robots are practising" in html and "about two minutes left" in html
    assert html.count("<figcaption>Practice</figcaption>") == 6
    assert "safe to close this page" in html


@pytest.mark.slow
def test_only_the_newest_practice_clip_of_each_robot(client, waiting_person):
    page(client, waiting_person)
    rows.create_round(waiting_person, percent=30)
    assert page(client, waiting_person).count("<figcaption>Practice</figcaption>") == 6


@pytest.mark.slow
def test_a_robot_keeps_its_place_when_a_newer_clip_of_it_comes(client, waiting_person):
    def see():
        tokens = re.findall(r'<li id="early-([\w-]+)"', page(client, waiting_person))
        robots = dict(ClipTicket.objects.values_list("token", "clip__candidate"))
        return [robots[token] for token in tokens], tokens

    robots, tokens = see()
    rows.create_round(waiting_person, percent=30)
    robots_later, tokens_later = see()
    assert robots_later == robots and not set(tokens_later) & set(tokens)


@pytest.mark.slow
def test_no_clips_of_the_round_before_while_the_next_practises(client, waiting_person):
    page(client, waiting_person)
    waiting_person.experiment.requests.update(status="done", result=[])
    rows.create_round(waiting_person, number=2, percent=10).candidates.get(index=1).clips.update(status="pending")
    rows.open_training(waiting_person, number=2)
    assert page(client, waiting_person).count("<figcaption>Practice</figcaption>") == 5


@pytest.mark.slow
def test_after_the_last_round_no_more_robots_are_promised(client):
    person = rows.participant()
    last = rows.create_round(person, number=person.experiment.n)
    rows.open_judgement(person, number=last.number)
    shown = find_screening(Request.objects.get(), person)
    ballot.cast_vote(person, shown.token, ballot.Choice("A", "B"))
    html = page(client, person)
    assert "That was the last round." in html and "The next robots" not in html
    Vote.objects.update(created_at=timezone.now() - timedelta(seconds=60))
    html = page(client, person)
    assert "Your favourites are being brought together" in html and "next robots" not in html.partition("</main")[0]


@pytest.mark.slow
def test_live_gives_progress_while_nothing_else_changes(client, waiting_person):
    version = version_of(page(client, waiting_person))
    Job.objects.update(created_at=timezone.now(), estimates=[[0, 15, 0]])
    response = live(client, waiting_person, version)
    assert response["HX-Retarget"] == "#progress" and "a few seconds left" in response.content.decode()


@pytest.mark.slow
def test_live_gives_the_new_page_when_there_is_one(client, waiting_person):
    version = version_of(page(client, waiting_person))
    rows.open_judgement(waiting_person)
    rows.create_round(waiting_person, percent=100)
    response = live(client, waiting_person, version)
    html = response.content.decode()
    assert response["HX-Retarget"] == "#state" and 'id="ballot"' in html and "<html" not in html


def test_live_leaves_a_person_who_chooses_alone(client):
    person = rows.participant()
    rows.create_round(person)
    rows.open_judgement(person)
    response = live(client, person, version_of(page(client, person)))
    assert response.status_code == 204 and not response.content


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (3, "a few seconds left"),
        (40, "less than a minute left"),
        (62, "about one minute left"),
        (130, "about two minutes left"),
        (1500, "about 25 minutes left"),
        (5400, "about 90 minutes left"),
        (9000, "about two hours left"),
    ],
)
def test_time_left_in_words(seconds, text):
    assert words.describe_time_left(seconds) == text


def test_waiting_never_says_that_all_is_done(client, waiting_person):
    Job.objects.update(progress={"fraction": 1.0, "seconds_left": 0})
    assert "100%" not in page(client, waiting_person)


# --- the other states -----------------------------------------------------------------------------------------


def test_paused(client, waiting_person):
    loop.pause(waiting_person.experiment)
    assert "taking a break" in page(client, waiting_person)


def test_failed_says_that_nothing_is_lost_and_nothing_more(client, waiting_person):
    Experiment.objects.update(status=Experiment.Status.FAILED, error="Traceback: sentinel_error")
    html = page(client, waiting_person)
    assert "Something went wrong on our side" in html and "nothing is lost" in html and "sentinel" not in html


def test_cancelled(client, waiting_person):
    loop.cancel(waiting_person.experiment)
    study = waiting_person.study
    CompletionCode.objects.create(study=study, outcome=Outcome.STOPPED, code="NOT-YOUR-FAULT")
    CompletionCode.objects.create(study=study, outcome=Outcome.FINISHED, code="ALL-DONE")
    html = page(client, waiting_person)
    assert "Your part ends here" in html and "NOT-YOUR-FAULT" in html and "ALL-DONE" not in html
    waiting_person.refresh_from_db()
    assert waiting_person.outcome == Outcome.STOPPED


def test_who_does_not_want_to_wait_after_a_failure_takes_a_code(client, waiting_person):
    CompletionCode.objects.create(study=waiting_person.study, outcome=Outcome.STOPPED, code="NOT-YOUR-FAULT")
    address = reverse("stop", args=[waiting_person.token])
    client.post(address)
    waiting_person.refresh_from_db()
    assert waiting_person.outcome == ""  # there is no failure
    Experiment.objects.update(status=Experiment.Status.FAILED)
    html = page(client, waiting_person)
    assert address in html and "NOT-YOUR-FAULT" not in html
    assert "NOT-YOUR-FAULT" in client.post(address, follow=True).content.decode()
    assert Experiment.objects.get().status == Experiment.Status.CANCELLED


@pytest.mark.slow
def test_people_inside_a_study_that_closes_go_on_to_the_end(client, waiting_person):
    opening.close_study(waiting_person.study)
    assert 'data-state="waiting"' in page(client, waiting_person)
    rows.create_round(waiting_person)
    request = rows.open_judgement(waiting_person)
    html = page(client, waiting_person)
    assert 'data-state="review"' in html
    token = find_screening(request, waiting_person).token
    client.post(reverse("vote", args=[waiting_person.token]), {"screening": token, "best": "A", "worst": "B"})
    assert Vote.objects.exists() and "Thank you, your choice is saved" in page(client, waiting_person)


def test_thanks_with_the_winner_even_when_the_study_is_closed(client):
    person = rows.participant()
    rows.create_round(person)
    rows.finish_experiment(person)
    Study.objects.update(status=Study.Status.CLOSED, thanks_text="See you at the debriefing.")
    html = page(client, person)
    assert "Your winner" in html and "See you at the debriefing." in html
    person.refresh_from_db()
    assert person.finished_at


def test_thanks_without_a_clip(client):
    person = rows.participant()
    rows.create_round(person)
    Clip.objects.update(status=Clip.Status.FAILED)
    rows.finish_experiment(person)
    assert "You have finished" in page(client, person)


# --- leaving --------------------------------------------------------------------------------------------------


def test_every_page_offers_to_leave_and_names_a_contact(client, waiting_person, newcomer):
    for person in (waiting_person, newcomer):
        html = page(client, person)
        assert reverse("leave", args=[person.token]) in html and "ada@example.org" in html


def test_leaving_asks_first(client, waiting_person):
    html = client.get(reverse("leave", args=[waiting_person.token])).content.decode()
    waiting_person.refresh_from_db()
    assert "Leave the study?" in html and waiting_person.withdrawn_at is None


def test_leaving_stops_everything(client, waiting_person):
    response = client.post(reverse("leave", args=[waiting_person.token]), follow=True)
    assert "You have left the study" in response.content.decode()
    waiting_person.refresh_from_db()
    assert waiting_person.withdrawn_at and waiting_person.experiment.status == Experiment.Status.CANCELLED
    assert Event.objects.filter(kind="withdrawn").count() == 1
    client.post(reverse("leave", args=[waiting_person.token]))
    assert Event.objects.filter(kind="withdrawn").count() == 1


def test_what_had_failed_is_not_tried_again_for_somebody_who_left(client, waiting_person):
    Experiment.objects.update(status=Experiment.Status.FAILED)
    client.post(reverse("leave", args=[waiting_person.token]))
    assert not loop.retry(Experiment.objects.get())


def test_nothing_works_after_leaving(client, newcomer):
    Participant.objects.update(withdrawn_at=timezone.now())
    agree(client, newcomer)
    newcomer.refresh_from_db()
    assert newcomer.consented_at is None and not Experiment.objects.exists()


# --- the head of every answer ---------------------------------------------------------------------------------


def test_a_strict_policy_and_nothing_inline(client, waiting_person):
    response = client.get(waiting_person.get_absolute_url())
    policy = response["Content-Security-Policy"]
    assert "script-src 'self'" in policy and "unsafe" not in policy
    html = response.content.decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=|javascript:", html)
    assert not re.search(r"""(?:src|href|action)=["'](?:https?:)?//""", html)


def test_the_first_page_is_small(client):
    rows.study(demonstration=True)
    for address in ("/", rows.participant(label="P02").get_absolute_url()):
        html = client.get(address).content
        names = {name.partition("#")[0] for name in re.findall(r'(?:src|href)="/static/([^"]+)"', html.decode())}
        assets = {name: Path(finders.find(name)).read_bytes() for name in names}
        sent = len(html) + sum(len(gzip.compress(data)) for data in assets.values())
        assert len(assets) >= 2 and sent < 100_000


def test_an_address_where_there_is_nothing(client):
    response = client.get("/nowhere/")
    assert response.status_code == 404 and "There is nothing at this address" in response.content.decode()


def test_a_browser_without_cookies_is_told_what_to_do(newcomer):
    from django.test import Client

    response = Client(enforce_csrf_checks=True).post(reverse("consent", args=[newcomer.token]), {"agree": "yes"})
    assert response.status_code == 403 and "allow cookies" in response.content.decode()
    newcomer.refresh_from_db()
    assert newcomer.consented_at is None


# --- words ----------------------------------------------------------------------------------------------------


def test_no_page_says_that_robots_learn_from_the_choice():
    """Under OpenLoop they do not, and nobody may find out which method it is."""
    folder = Path(settings.BASE_DIR) / "templates" / "studio"
    words = " ".join(path.read_text() for path in sorted(folder.rglob("*.html")) if path.parent.name != "votes")
    assert not re.search(r"learns? from|learned from|begins? from|begun from|grows? from|because of your", words)
