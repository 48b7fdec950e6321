"""Erasure of one member of a panel: nothing of the pseudonym is left, and the other member's is as it was."""

import json
import re

import pytest
from django.test import override_settings
from django.urls import reverse

from tests.webapp import finished_study, rows
from webapp.archive import erasure
from webapp.experiments.models import Event
from webapp.review import ballot
from webapp.review.screenings import find_screening, make_tiles
from webapp.studies import enrolment
from webapp.studies.models import Participant

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
GONE, STAYS = "Quokka-1", "Quokka-11"


def find_rows(label):
    """The tables whose rows hold this pseudonym in any column, with how many rows do. The audit log may hold it: it is
    append-only, and its pseudonyms name nobody any more (docs/data.md).
    """
    word = re.compile(rf"(?<!\w){label}(?!\w)")
    lines = finished_study.dump_database(without=("audit.Entry",)).splitlines()
    found = [json.loads(line)[0] for line in lines if word.search(line)]
    return {name: found.count(name) for name in found}


@override_settings(UNDO_SECONDS=60)
def test_a_pseudonym_is_left_nowhere(client, django_capture_on_commit_callbacks):
    study = rows.study(task="Cartpole", panel=2, k=2, n=1)
    first, second = (Participant.objects.create(study=study, label=label) for label in (GONE, STAYS))
    for person in (first, second):
        assert enrolment.accept_consent(person) == ""
        person.refresh_from_db()
    assert first.experiment == second.experiment
    rows.create_round(first)
    request = rows.open_judgement(first)
    for person in (first, second):
        screening = find_screening(request, person)
        clip = make_tiles(screening)[0]
        assert client.post(reverse("report", args=[person.token]), {"clip": clip.token}).status_code == 200
        cast = ballot.cast_vote(person, screening.token, ballot.Choice("A", "B"))
        assert ballot.undo_vote(cast.vote)
        assert ballot.cast_vote(person, screening.token, ballot.Choice(cannot_tell=True, broken=True)).vote
    enrolment.withdraw(first)
    before = find_rows(GONE)
    assert before["experiments.Event"] >= 6 and {kind.kind for kind in Event.objects.all()} >= {"voted", "undone"}
    other = find_rows(STAYS)
    with django_capture_on_commit_callbacks(execute=True):
        erasure.erase(first)
    assert find_rows(GONE) == {}
    assert find_rows(STAYS) == other
    assert set(Event.objects.filter(kind="voted").values_list("payload__only", flat=True)) == {STAYS, "[deleted]"}
