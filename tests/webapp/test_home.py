"""The home page: what it offers to try, and what beginning makes."""

import pytest
from django.urls import reverse

from tests.webapp import rows
from webapp.experiments.models import Experiment
from webapp.studies.models import Participant, Study

pytestmark = pytest.mark.django_db


def test_home_offers_open_demonstrations(client):
    rows.study(title="An ant that learns to run", demonstration=True)
    rows.study(title="Not for everybody")
    rows.study(title="Not yet", demonstration=True, status=Study.Status.DRAFT)
    html = client.get("/").content.decode()
    assert "An ant that learns to run" in html and "Not for everybody" not in html and "Not yet" not in html


def test_home_without_demonstrations_says_so(client):
    assert "Nothing to try yet" in client.get("/").content.decode()


def test_start_makes_a_visitor_whose_experiment_waits_for_consent(client):
    study = rows.study(demonstration=True)
    response = client.post(reverse("start", args=[study.pk]))
    visitor = Participant.objects.get()
    assert response.url == visitor.get_absolute_url()
    assert visitor.consented_at is None and not Experiment.objects.exists()
    assert "I have read this" in client.get(visitor.get_absolute_url()).content.decode()


def test_start_twice_continues(client):
    study = rows.study(demonstration=True)
    for _ in range(2):
        client.post(reverse("start", args=[study.pk]))
    assert Participant.objects.count() == 1
    assert "Continue" in client.get("/").content.decode()


@pytest.mark.parametrize("change", [{"demonstration": False}, {"status": Study.Status.CLOSED}])
def test_start_of_what_is_not_offered(client, change):
    study = rows.study(**{"demonstration": True, **change})
    assert client.post(reverse("start", args=[study.pk])).status_code == 404
    assert not Participant.objects.exists()


def test_seeds_are_the_studys_own_in_order():
    study = rows.study()
    assert [rows.participant(study, label=name).experiment.seed - study.seed for name in "abc"] == [0, 1, 2]


def test_an_address_below_the_bench_that_is_gone_leads_to_the_experiments(client):
    gone, elsewhere = client.get("/bench/nothing/"), client.get("/nothing/")
    assert gone.status_code == elsewhere.status_code == 404
    assert 'href="/bench/"' in gone.text and "If you take part" not in gone.text
    assert 'href="/bench/"' not in elsewhere.text and "If you take part" in elsewhere.text
