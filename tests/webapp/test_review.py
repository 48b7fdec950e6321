"""Votes: cast once, taken back, locked once; and what a person is told when something is not as they think."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from tests.webapp import rows
from webapp.experiments import loop
from webapp.experiments.models import Event, Experiment, Job, Request
from webapp.review import ballot, panels
from webapp.review.ballot import Choice
from webapp.review.models import Screening, Vote
from webapp.review.screenings import LETTERS, find_screening, make_tiles
from webapp.studies.models import Study

pytestmark = pytest.mark.django_db


@pytest.fixture
def person():
    person = rows.participant()
    rows.create_round(person)
    rows.open_judgement(person)
    return person


@pytest.fixture
def screening(person):
    return find_screening(Request.objects.get(), person)


def vote(browser, person, shown, /, **data):
    fields = {"screening": shown.token, "best": "A", "worst": "B", **data}
    return browser.post(reverse("vote", args=[person.token]), fields, follow=True)


def older(seconds=settings.UNDO_SECONDS + 1):
    Vote.objects.update(created_at=timezone.now() - timedelta(seconds=seconds))


# --- the screening --------------------------------------------------------------------------------------------


def test_the_order_is_drawn_once_and_can_be_drawn_again(person, screening):
    assert find_screening(screening.request, person) == screening
    assert sorted(screening.order) == [candidate.pk for candidate in rows.Candidate.objects.order_by("pk")]
    assert [tile.letter for tile in make_tiles(screening)] == list("ABCDEF")


@pytest.mark.slow
def test_two_people_see_different_orders_and_addresses():
    people = [rows.participant(label=f"P{number}") for number in range(6)]
    orders, addresses = set(), set()
    for someone in people:
        rows.create_round(someone)
        shown = find_screening(rows.open_judgement(someone), someone)
        orders.add(tuple(pk - min(shown.order) for pk in shown.order))
        addresses.update(tile.video for tile in make_tiles(shown))
    assert len(orders) > 1 and len(addresses) == 36


# --- casting --------------------------------------------------------------------------------------------------


def test_a_vote_is_a_row_before_the_page_says_thank_you(client, person, screening):
    client_data = '{"decide_ms": 5200, "plays": 3, "name": "x", "focus_lost": -1}'
    response = vote(
        client, person, screening, reason=" It runs. ", tags=["best: moves fast", "made up"], client=client_data
    )
    assert "your choice is saved" in response.content.decode()
    saved = Vote.objects.get()
    assert (saved.best_id, saved.worst_id) == tuple(screening.order[:2])
    assert (saved.reason, saved.tags) == ("It runs.", ["best: moves fast"])
    assert saved.client == {"enough": 0, "decide_ms": 5200, "plays": 3}
    assert Request.objects.get().status == Request.Status.OPEN


def test_double_click(client, person, screening):
    for _ in range(2):
        response = vote(client, person, screening)
    assert Vote.objects.count() == 1
    assert "already" not in response.content.decode()


def test_same_link_in_two_browsers(client, person, screening):
    vote(client, person, screening)
    response = vote(client, person, screening, best="C", worst="D")
    assert "You had already chosen in this round: best A, worst B. That choice stands." in response.content.decode()
    assert Vote.objects.get().best_id == screening.order[0]


def test_a_vote_for_a_closed_round(client, person, screening):
    vote(client, person, screening)
    older()
    ballot.lock_due_votes()
    Vote.objects.all().delete()
    response = vote(client, person, screening)
    assert "That round is already over" in response.content.decode()
    assert not Vote.objects.exists()


def test_a_vote_in_a_cancelled_experiment(client, person, screening):
    loop.cancel(person.experiment)
    response = vote(client, person, screening)
    assert "That round is already over" in response.content.decode()
    assert not Vote.objects.exists()


def test_a_vote_made_while_the_experimenter_pauses_is_not_lost(client, person, screening):
    loop.pause(person.experiment)
    response = vote(client, person, screening)
    assert "taking a break" in response.content.decode()
    assert Vote.objects.count() == 1


def test_another_persons_screening(client, person, screening):
    other = rows.participant(label="P08")
    response = vote(client, other, screening)
    assert "That page was out of date" in response.content.decode()
    assert not Vote.objects.exists()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"worst": "A"}, "Best and worst were the same video"),
        ({"best": ""}, "Choose the best and the worst video"),
        ({"worst": ""}, "Choose the best and the worst video"),
        ({"best": "Z"}, "Choose the best and the worst video"),
        ({"best": "1-2"}, "Choose the best and the worst video"),
        ({"screening": ""}, "That page was out of date"),
    ],
)
def test_a_choice_that_makes_no_sense(client, person, screening, data, message):
    response = vote(client, person, screening, **data)
    assert message in response.content.decode()
    assert not Vote.objects.exists()


@pytest.mark.parametrize("client_data", ["nonsense", "[1]", "null", '{"decide_ms": 1e999}', '{"decide_ms": "1"}'])
def test_what_a_browser_measured_is_taken_with_care(client, person, screening, client_data):
    vote(client, person, screening, client=client_data)
    assert Vote.objects.get().client == {"enough": 0}


def test_i_cannot_tell(client, person, screening):
    response = vote(client, person, screening, best="", worst="", cannot_tell="yes")
    assert "could not tell the videos apart" in response.content.decode()
    drawn = Vote.objects.get()
    assert drawn.cannot_tell and drawn.best_id != drawn.worst_id
    ballot.undo_vote(drawn)
    again = ballot.cast_vote(person, screening.token, Choice(cannot_tell=True)).vote
    assert (again.best_id, again.worst_id) == (drawn.best_id, drawn.worst_id), "drawn from the screening's seed"


@pytest.mark.slow
def test_a_clip_that_failed_cannot_be_chosen(client):
    person = rows.participant()
    rows.create_round(person, failed=(3,))
    screening = find_screening(rows.open_judgement(person), person)
    missing = next(tile.letter for tile in make_tiles(screening) if tile.status == "failed")
    page = client.get(person.get_absolute_url()).content.decode()
    assert "This video could not be made" in page and f'name="best" value="{missing}"' not in page
    others = [letter for letter in LETTERS[:6] if letter != missing]
    response = vote(client, person, screening, best=missing, worst=others[0])
    assert "could not be played" in response.content.decode() and not Vote.objects.exists()
    vote(client, person, screening, best=others[0], worst=others[1])
    assert Vote.objects.count() == 1


def test_only_one_clip_is_left(client):
    person = rows.participant()
    rows.create_round(person, failed=(2, 3, 4, 5, 6))
    screening = find_screening(rows.open_judgement(person), person)
    only = next(tile.letter for tile in make_tiles(screening) if tile.status == "ready")
    assert "Only one robot finished" in client.get(person.get_absolute_url()).content.decode()
    vote(client, person, screening, best=only, worst="")
    assert Vote.objects.get().worst is None


def test_no_clip_is_left(client):
    person = rows.participant()
    rows.create_round(person, failed=(1, 2, 3, 4, 5, 6))
    rows.open_judgement(person)
    assert "Something went wrong on our side" in client.get(person.get_absolute_url()).content.decode()


# --- taking back ----------------------------------------------------------------------------------------------


def test_undo_and_choose_again(client, person, screening):
    vote(client, person, screening)
    response = client.post(reverse("undo", args=[person.token]), {"screening": screening.token}, follow=True)
    assert 'id="ballot"' in response.content.decode()
    vote(client, person, screening, best="E", worst="F")
    first, second = Vote.objects.order_by("pk")
    assert first.undone_at and not second.undone_at
    assert second.best_id == screening.order[4]


def test_undo_too_late(client, person, screening):
    vote(client, person, screening)
    older()
    ballot.lock_due_votes()
    response = client.post(reverse("undo", args=[person.token]), {"screening": screening.token}, follow=True)
    assert "too late to take that choice back" in response.content.decode()
    assert Vote.objects.get().undone_at is None


def test_undo_of_a_foreign_vote(client, person, screening):
    vote(client, person, screening)
    other = rows.participant(label="P08")
    client.post(reverse("undo", args=[other.token]), {"screening": screening.token})
    assert Vote.objects.get().undone_at is None


# --- locking --------------------------------------------------------------------------------------------------


def test_a_vote_becomes_the_answer_once_it_is_locked(client, person, screening):
    vote(client, person, screening, reason="It runs.", tags=["worst: falls over"])
    assert ballot.lock_due_votes() == 0, "it may still be taken back"
    older()
    assert ballot.lock_due_votes() == 1
    assert ballot.lock_due_votes() == 0, "exactly once"
    request = Request.objects.get()
    cast = Vote.objects.get()
    assert request.status == Request.Status.DONE
    expected = {"best": cast.best.key, "worst": cast.worst.key, "reason": "It runs.", "tags": ["worst: falls over"]}
    assert {**request.result, "tags": list(request.result["tags"])} == expected
    assert Job.objects.filter(kind="advance").count() == 1
    assert Experiment.objects.get().status == Experiment.Status.RUNNING


@pytest.fixture
def deleted_files(monkeypatch):
    """Somebody deletes the experiment between a look at it and its lock."""
    lock = loop.lock

    def late(pk):
        Experiment.objects.filter(pk=pk).delete()
        return lock(pk)

    monkeypatch.setattr(loop, "lock", late)


def test_whose_experiment_is_deleted_while_a_choice_is_locked_is_told(
    client, person, screening, deleted_files, monkeypatch
):
    monkeypatch.setattr(settings, "UNDO_SECONDS", 0)
    Vote.objects.create(request=screening.request, screening=screening, best_id=screening.order[0])
    page = client.get(person.get_absolute_url())
    assert page.status_code == 200 and not Experiment.objects.exists()
    html = page.content.decode()
    assert "What you had begun was deleted by the researcher" in html and "I have read this" in html
    Study.objects.update(status="closed")
    html = client.get(person.get_absolute_url()).content.decode()
    assert "was deleted by the researcher" in html and "This study is closed" in html


def test_what_is_deleted_while_it_is_settled_holds_up_nothing_else(person, screening, deleted_files):
    best = screening.order[0]
    Vote.objects.create(request=screening.request, screening=screening, best_id=best, locked_at=timezone.now())
    assert panels.settle_due_requests() == 0 and not Experiment.objects.exists()


def test_a_model_learns_which_letters_a_reason_speaks_of(client, person, screening):
    vote(client, person, screening, reason="B runs on, the rest fall.")
    older()
    ballot.lock_due_votes()
    cast = Vote.objects.get()
    best, worst = (LETTERS[screening.order.index(pk)] for pk in (cast.best_id, cast.worst_id))
    assert cast.reason == "B runs on, the rest fall."
    told = Request.objects.get().result["reason"]
    assert told == f"{cast.reason}\n[{best} is the best, {worst} is the worst.]"


@pytest.mark.slow
def test_a_page_locks_what_is_due_itself(client, person, screening):
    vote(client, person, screening)
    older()
    client.get(person.get_absolute_url())
    assert Vote.objects.get().locked_at


def test_an_undone_vote_is_never_locked(client, person, screening):
    vote(client, person, screening)
    ballot.undo_vote(Vote.objects.get())
    older()
    assert ballot.lock_due_votes() == 0
    assert Request.objects.get().status == Request.Status.OPEN


def test_a_vote_waits_for_an_experiment_that_has_failed_meanwhile(client, person, screening):
    vote(client, person, screening)
    older()
    Experiment.objects.update(status=Experiment.Status.FAILED)
    assert ballot.lock_due_votes() == 0 and Vote.objects.get().locked_at is None
    Experiment.objects.update(status=Experiment.Status.RUNNING)
    assert ballot.lock_due_votes() == 1


def test_a_vote_is_not_lost_when_the_experiment_fails_while_it_is_being_locked(client, person, screening, monkeypatch):
    vote(client, person, screening)
    older()
    before, lock = Experiment.objects.get(), loop.lock

    def fails_first(pk):
        Experiment.objects.update(status=Experiment.Status.FAILED)
        return lock(pk)

    with monkeypatch.context() as patched:
        patched.setattr(loop, "lock", fails_first)
        assert ballot.lock_due_votes() == 0
    assert Vote.objects.get().locked_at is None
    Experiment.objects.update(status=before.status)
    assert ballot.lock_due_votes() == 1
    assert Request.objects.get().status == Request.Status.DONE


@pytest.mark.slow
def test_the_final_pick(client):
    person = rows.participant()
    for number in (1, 2, 3):
        rows.create_round(person, number)
    request = rows.open_final_choice(person)
    screening = find_screening(request, person)
    page = client.get(person.get_absolute_url()).content.decode()
    assert "Which one is the best of all?" in page and 'name="worst"' not in page
    vote(client, person, screening, best="C", worst="")
    older()
    ballot.lock_due_votes()
    request.refresh_from_db()
    assert request.status == Request.Status.DONE
    assert request.result == Vote.objects.get().best.key in request.payload["candidates"]


# --- reporting ------------------------------------------------------------------------------------------------


def test_a_reported_clip_reaches_the_experimenter(client, person, screening):
    tile = make_tiles(screening)[0]
    response = client.post(reverse("report", args=[person.token]), {"clip": tile.token})
    assert response.status_code == 200 and "researcher" in response.content.decode()
    event = Event.objects.get(kind="reported")
    assert event.payload["clip"] and not event.public


def test_a_foreign_clip_cannot_be_reported(client, person):
    assert client.post(reverse("report", args=[person.token]), {"clip": "x"}).status_code == 404
    assert not Event.objects.filter(kind="reported").exists()


def test_screenings_of_a_withdrawn_person_take_no_vote(client, person, screening):
    person.withdrawn_at = timezone.now()
    person.save()
    vote(client, person, screening)
    assert not Vote.objects.exists() and Screening.objects.exists()


def test_of_two_only_the_better_is_asked_for(client, person, screening):
    Request.objects.update(kind="Compare", payload={"iteration": 1, "candidates": ["1-1", "1-2"]})
    Screening.objects.all().delete()
    html = client.get(person.get_absolute_url()).content.decode()
    assert "Which one does it better?" in html and 'data-worst="no"' in html
    assert 'name="best"' in html and 'name="worst"' not in html and 'name="reason"' not in html
    shown = Screening.objects.get()
    vote(client, person, shown, worst="")
    older()
    assert ballot.lock_due_votes() == 1
    expected = "first" if Vote.objects.get().best.key == "1-1" else "second"
    assert Request.objects.get().result == expected
