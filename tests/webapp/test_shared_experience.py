"""Candidates that share their experience: a setting of experiments, as trainings, records and pages say it."""

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse

from tests.webapp import bench_rows
from tests.webapp.fake_workers import create_experiment, do_work, find_open_requests
from webapp.experiments import loop, repeating, upgrades
from webapp.experiments.execute.train import build_job, find_candidates
from webapp.experiments.models import Experiment

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.mark.parametrize("shared", [True, False])
def test_a_training_and_its_record_say_whether_experience_is_shared(shared):
    row = create_experiment(k=3, n=1, method="icpl", preset="quick-sac", shared_experience=shared)
    loop.start(row)
    do_work(row, until="Train")
    (request,) = find_open_requests(row)
    assert build_job(row, request, find_candidates(request)).shared_experience is shared
    assert upgrades.build_record(row).shared_experience is shared


def test_only_settings_with_sac_take_it():
    settings = {"name": "E", "judge": "proxy", "shared_experience": True}
    Experiment(task="Cartpole", preset="quick-sac", **settings).full_clean()
    with pytest.raises(ValidationError, match="Only SAC learns from what others did"):
        Experiment(task="Cartpole", preset="quick", **settings).full_clean()


def test_a_page_says_that_scores_are_not_comparable(staff):
    row = bench_rows.create_finished_experiment(k=2, n=1, clips=False, shared_experience=True)
    words = b"candidates share their experience (scores are not comparable"
    address = reverse("bench:experiment", args=[row.public_id])
    assert words in staff.get(address).content
    Experiment.objects.update(shared_experience=False)
    assert words not in staff.get(address).content


def test_a_retraining_does_not_share_and_says_that_its_search_did(staff):
    settings = {"preset": "quick-sac", "shared_experience": True}
    row = bench_rows.create_finished_experiment(k=2, n=1, clips=False, **settings)
    assert not repeating.start_retraining(row, "ada", "quick-sac", 3).shared_experience
    page = staff.get(reverse("bench:experiment", args=[row.public_id])).content.decode()
    assert "candidates learned from one another’s experience" in page
