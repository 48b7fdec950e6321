"""What a round's training starts from, and that the worker puts it where the trainer looks for it."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core.exceptions import ValidationError

from simulation import catalog
from tests.webapp.fake_workers import create_experiment, do_work, find_open_requests, finish_request
from trainer.records import resolve_preset
from trainer.saved_preset import describe_values
from webapp.experiments import loop, run_folder
from webapp.experiments.durations import measure_step
from webapp.experiments.execute.train import build_job, find_candidates
from webapp.experiments.execute.warm_start import fetch_start, find_start
from webapp.experiments.models import Experiment
from webapp.experiments.trained_presets import compare_settings

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)


def reach_second_round(**settings):
    """The Train requests of the first round, whose best is its third candidate, and of the second, which is open."""
    row = create_experiment(k=3, n=2, **settings)
    loop.start(row)
    do_work(row, until="Train")
    (first,) = find_open_requests(row)
    assert first.payload["iteration"] == 1 and "warm" not in first.payload
    finish_request(row, first)
    do_work(row, until="Train")
    (request,) = find_open_requests(row)
    return first, request


@pytest.fixture(params=[{"method": "rda_scored"}, {"method": "icpl", "training_start": "best"}], ids=["method", "best"])
def second_round(request, db):
    return reach_second_round(**request.param)


def test_the_policy_of_the_last_best_is_put_in_place(second_round):
    first, request = second_round
    policies = run_folder.get_folder(first) / "checkpoints" / "policies"
    policies.mkdir(parents=True)
    for index in range(3):
        (policies / f"{index}.pt").write_bytes(b"policy %d" % index)
    start = find_start(request)
    assert start.candidate == "1-3"
    assert fetch_start(request, start) and (run_folder.get_folder(request) / "warm.pt").read_bytes() == b"policy 2"
    (policies / "2.pt").unlink()
    assert fetch_start(request, start), "it is there already"
    assert build_job(request.experiment, request, find_candidates(request)).warm


def test_a_policy_that_is_gone_is_said_to_be_gone(second_round):
    first, request = second_round
    assert not fetch_start(request, find_start(request)) and not run_folder.get_folder(request).exists()
    assert find_start(first) is None and not build_job(first.experiment, first, find_candidates(first)).warm


@pytest.mark.django_db
def test_as_published_every_round_starts_from_random_weights():
    first, request = reach_second_round(method="icpl")
    assert find_start(first) is None and find_start(request) is None


@pytest.mark.django_db
@pytest.mark.parametrize(("overrides", "shorter"), [({}, 600), ({"iterations": 10}, 6)])
def test_later_rounds_that_go_on_from_the_best_may_train_less(overrides, shorter):
    settings = {"method": "icpl", "task": "Humanoid", "overrides": overrides}
    first, request = reach_second_round(**settings, training_start="best_short")
    assert find_start(request).candidate == "1-3"
    whole, part = (build_job(one.experiment, one, find_candidates(one)) for one in (first, request))
    assert (whole.overrides, part.overrides) == (overrides, {"iterations": shorter})
    values = describe_values(resolve_preset(part))
    assert not any(one.differs for one in compare_settings(request.experiment, values)), "it is as it is set"
    first, request = reach_second_round(**settings, training_start="best", seed=1)
    assert build_job(request.experiment, request, find_candidates(request)).overrides == overrides


@pytest.mark.django_db
def test_the_time_of_a_shorter_training_is_expected_and_counted_as_such():
    """The first round's training took 100 s, and the second 60 s."""
    first, request = reach_second_round(method="icpl", training_start="best_short")
    row, other = request.experiment, create_experiment(k=3, n=2, training_start="best_short")
    assert row.jobs.filter(kind="train").count() == 2
    for one, seconds in ((first, 100), (request, 60)):
        done = {"status": "done", "started_at": NOON, "finished_at": NOON + timedelta(seconds=seconds)}
        one.jobs.filter(kind="train").update(**done)
        assert measure_step(row, "training", {}) == pytest.approx(60)
        assert measure_step(other, "training", {}) == pytest.approx(100)


@pytest.mark.django_db
@pytest.mark.parametrize("training_start", ["upright", "best"])
@pytest.mark.parametrize("task", catalog.list_upright_tasks())
def test_a_humanoid_begins_with_a_policy_that_stays_up(task, training_start):
    first, request = reach_second_round(method="icpl", task=task, training_start=training_start)
    start = find_start(first)
    assert start.file == catalog.find_upright_policy(task, "quick")
    assert fetch_start(first, start)
    assert (run_folder.get_folder(first) / "warm.pt").read_bytes() == start.file.read_bytes()
    assert find_start(request).candidate == ("1-3" if training_start == "best" else "")


@pytest.mark.django_db
def test_a_task_without_such_a_policy_refuses_it_in_words():
    with pytest.raises(ValidationError, match="Cartpole has no policy that stays up"):
        Experiment(name="E", task="Cartpole", judge="proxy", training_start="upright").full_clean()
    with pytest.raises(ValidationError, match="no policy that stays up for these training settings"):
        Experiment(name="E", task="Humanoid", judge="proxy", preset="paper", training_start="upright").full_clean()
