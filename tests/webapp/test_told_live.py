"""Pages of those who wait for others, or for the next experiment, hear of what they wait for."""

import pytest
from django.test import override_settings

from tests.webapp import rows
from webapp.experiments.models import Event
from webapp.live import consumers
from webapp.review import ballot
from webapp.review.screenings import find_screening
from webapp.studies.models import Assignment

pytestmark = pytest.mark.django_db


def test_between_two_experiments_a_page_listens(client):
    person = rows.participant(rows.study(experiments_each=2))
    rows.create_round(person)
    rows.finish_experiment(person)
    Assignment.objects.create(participant=person, arm=person.study.arms.first(), position=2)
    assert person.experiment is None
    assert consumers.find_visitor(person.token) == (person.pk, person.assignments.get(position=1).experiment_id)


@override_settings(UNDO_SECONDS=0)
def test_whoever_waits_for_a_panel_hears_of_each_choice_that_stands(client):
    study = rows.study(panel=3)
    first = rows.participant(study, label="P01")
    others = [rows.participant(study, label=f"P0{number}") for number in (2, 3)]
    Assignment.objects.filter(participant__in=others).update(experiment=first.experiment)
    rows.create_round(first)
    request = rows.open_judgement(first)
    heard = []
    for person in (first, others[0]):
        best, worst = "AB"
        ballot.cast_vote(person, find_screening(request, person).token, ballot.Choice(best, worst))
        before = Event.objects.latest("pk").pk
        assert ballot.lock_due_votes() == 0
        heard.append(Event.objects.filter(pk__gt=before, public=True).count())
    assert heard == [1, 1]
    assert "One other person is still choosing" in client.get(first.get_absolute_url()).content.decode()
