"""Blinding is a property that is tested: nothing that a participant's browser receives says what made a clip.

What is sent is searched for keys and primary keys of candidates, scores, seeds, names of methods and files, source
text, and the field's words. The walk through everything is test_blinding_everywhere.py.
"""

import json
import re

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp import rows
from webapp.experiments import events
from webapp.experiments.models import Candidate, Clip, Experiment, Job, Request
from webapp.review import ballot
from webapp.review.models import Screening, Vote
from webapp.review.screenings import find_screening, make_tiles
from webapp.studies.models import Participant

FORBIDDEN_WORDS = r"reward|polic(?:y|ies)|candidate|\bmodel|method|\bscore|\bicpl\b|open.?loop|eureka|\bmetric|\bseed"


class Recorder(Client):
    """A browser that keeps everything it was sent."""

    def __init__(self):
        super().__init__()
        self.received: list[tuple[str, str]] = []

    def request(self, **request):
        response = super().request(**request)
        body = b"" if response.streaming else response.content
        self.received.append((request["PATH_INFO"], f"{response.headers}\n{body.decode()}"))
        return response


@pytest.fixture
def person():
    """Ids far from the small numbers that a page may rightly show."""
    person = rows.participant(rows.study(n=3, method="icpl"))
    other = rows.participant(label="P99")
    rows.create_round(other)
    for table in (Candidate, Clip, Request):
        table.objects.all().delete()
    _number_from(Candidate, 700_001)
    _number_from(Clip, 800_001)
    _number_from(Request, 900_001)
    return person


def _number_from(table, number):
    from django.db import connection

    name = table._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"ALTER SEQUENCE {name}_id_seq RESTART WITH {number}")
        else:
            cursor.execute("UPDATE sqlite_sequence SET seq = %s WHERE name = %s", [number - 1, name])


def walk(browser, person):
    """Through every state, as rows that a loop would make."""
    address = person.get_absolute_url()

    def see():
        html = browser.get(address).content.decode()
        browser.get(reverse("live", args=[person.token]), {"version": ""}, headers={"HX-Request": "true"})
        return html

    def set_experiment(**values):
        Experiment.objects.filter(pk=person.experiment.pk).update(**values)

    browser.get("/")
    Participant.objects.filter(pk=person.pk).update(consented_at=None, instructed_at=None)
    assert "I have read this" in see()
    Participant.objects.filter(pk=person.pk).update(consented_at=timezone.now())
    assert "How it works" in see()
    Participant.objects.filter(pk=person.pk).update(instructed_at=timezone.now())
    for number in (1, 2, 3):
        rows.create_round(person, number, percent=10)
        training = rows.open_training(person, number)
        said = {
            "fraction": 0.4,
            "seconds_left": 66.27182,
            "samples": 123457,
            "candidates": [{"index": 0, "reason": "NaN"}],
        }
        Job.objects.create(
            experiment=person.experiment, request=training, kind="train", status="running", progress=said
        )
        assert "practising" in see()
        Request.objects.filter(pk=training.pk).update(status="done")
        rows.create_round(person, number, failed=(2,) if number == 1 else ())
        judging = rows.open_judgement(person, number)
        assert 'id="ballot"' in see()
        screening = Screening.objects.get(request=judging)
        playable = [tile.letter for tile in make_tiles(screening) if tile.status == "ready"]
        fields = {"screening": screening.token, "best": playable[0], "worst": playable[1]}
        for wrong in ({"worst": playable[0]}, {"screening": "x"}, {"best": "1-1"}):
            browser.post(reverse("vote", args=[person.token]), {**fields, **wrong}, follow=True)
        browser.post(reverse("vote", args=[person.token]), fields, follow=True)
        browser.post(reverse("undo", args=[person.token]), fields, follow=True)
        browser.post(reverse("vote", args=[person.token]), {**fields, "cannot_tell": "yes"}, follow=True)
        browser.post(reverse("vote", args=[person.token]), fields, follow=True)
        assert "your choice is saved" in see()
        browser.post(reverse("report", args=[person.token]), {"clip": make_tiles(screening)[0].token})
        Vote.objects.update(created_at=timezone.now() - timezone.timedelta(minutes=1))
        ballot.lock_due_votes()
        browser.post(reverse("undo", args=[person.token]), fields, follow=True)
    set_experiment(paused=True)
    assert "break" in see()
    set_experiment(paused=False, status="failed", error=rows.SOURCE)
    assert "went wrong" in see()
    rows.open_final_choice(person)
    assert "best of all" in see()
    set_experiment(status="cancelled")
    assert "Your part ends here" in see()
    Participant.objects.filter(pk=person.pk).update(outcome="", finished_at=None)
    rows.finish_experiment(person)
    assert "Your winner" in see()
    browser.get(reverse("leave", args=[person.token]))
    Participant.objects.filter(pk=person.pk).update(withdrawn_at=timezone.now())
    assert "have left" in see()
    browser.get(reverse("studio", args=["foreign"]))


def whole(text, within=r"\w"):
    """A pattern for this text where nothing of `within` is beside it. The text comes first: that is found fast."""
    return rf"{re.escape(text)}(?!{within})(?<!{within}{re.escape(text)})"


def secrets_of(person):
    """Everything that must not be received, by what it is."""
    candidates = list(Candidate.objects.filter(iteration__experiment=person.experiment))
    clips = list(Clip.objects.filter(candidate__in=candidates))
    votes = Screening.objects.filter(participant=person)
    return {
        "candidate key": [whole(c.key, r"[\w.-]") for c in candidates],
        "primary key": [whole(str(row.pk)) for row in [*candidates, *clips, *Request.objects.all()]],
        "rts": [re.escape(str(c.rts)[:6]) for c in candidates],
        "final score": [re.escape(str(c.final_score)[:6]) for c in candidates],
        "clip file": [part for clip in clips for part in (str(clip.name), clip.name.hex)],
        "seed": [str(rows.SEED), *(str(s.seed) for s in votes)],
        "experiment": [str(person.experiment.public_id)],
        "source": ["sentinel_source", "compute_reward"],
        "reason of failure": ["NaN"],
        "samples": ["123457"],
    }


def leaks(received, secrets):
    searches = [(what, re.compile(pattern).search) for what, patterns in secrets.items() for pattern in patterns]
    return [(where, what, found[0]) for where, text in received for what, search in searches if (found := search(text))]


@pytest.mark.django_db
def test_the_search_finds_what_is_planted(person):
    rows.create_round(person)
    candidate = Candidate.objects.first()
    clip = Clip.objects.first()
    for planted in (
        candidate.key,
        candidate.pk,
        candidate.rts,
        candidate.final_score,
        clip.name,
        rows.SEED,
        rows.SOURCE,
    ):
        assert leaks([("/", f"<p>{planted}</p>")], secrets_of(person)), planted


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
async def test_no_answer_about_a_clip_tells_what_it_shows(async_client):
    person, shown, secrets = await sync_to_async(_shown)()
    received = []
    for tile in shown:
        for address in (tile.video, tile.poster):
            for headers in ({}, {"Range": "bytes=0-99"}, {"Range": "bytes=99999999-"}):
                response = await async_client.get(address, headers=headers)
                received.append((address, f"{address}\n{response.headers}"))
    assert len(received) == 36
    assert leaks(received, secrets) == []
    assert not any("Last-Modified" in text or "Content-Disposition" in text for _, text in received)


def _shown():
    person = rows.participant()
    rows.create_round(person)
    shown = make_tiles(find_screening(rows.open_judgement(person), person))
    # Primary keys start at 1 here and lengths are in the headers: those are searched for on the pages, above.
    return person, shown, {what: found for what, found in secrets_of(person).items() if what != "primary key"}


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
async def test_no_websocket_message_tells_anything():
    from webapp.asgi import application  # builds the middleware: not before the folders are set

    person = await sync_to_async(rows.participant)()
    path = f"/ws/s/{person.token}/"
    scope = {"type": "websocket", "path": path, "query_string": b"", "headers": []}
    scope["headers"] = [(b"host", b"localhost"), (b"origin", b"http://localhost")]
    socket = ApplicationCommunicator(application, scope)
    await socket.send_input({"type": "websocket.connect"})
    assert (await socket.receive_output(timeout=60))["type"] == "websocket.accept"
    experiment = await sync_to_async(lambda: person.experiment)()
    emit = sync_to_async(events.emit)
    for kind in ("clip", "trained", "judge", "picked"):
        await emit(experiment, kind, "1-2 reached 77.31415", payload={"candidate": "1-2"}, public=True)
        message = await socket.receive_output(timeout=60)
        assert json.loads(message["text"]) == {"type": "changed"} and not message.get("bytes")
    await emit(experiment, "picked", "best 1-2")
    assert await socket.receive_nothing(timeout=0.6)
    await socket.send_input({"type": "websocket.disconnect", "code": 1000})
    await socket.wait(timeout=60)
