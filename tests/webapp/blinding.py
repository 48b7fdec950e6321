"""What a participant's browser receives, and the search for what must not be in it: keys and primary keys of
candidates, scores, seeds, names of methods and files, source text, and the field's words.
"""

import re

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp import rows
from webapp.experiments.models import Experiment, Job, Request
from webapp.review import ballot
from webapp.review.models import Screening, Vote
from webapp.review.screenings import make_tiles
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


def number_from(table, number):
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
    for number in (1, 2):
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


def leaks(received, secrets):
    searches = [(what, re.compile(pattern).search) for what, patterns in secrets.items() for pattern in patterns]
    return [(where, what, found[0]) for where, text in received for what, search in searches if (found := search(text))]
