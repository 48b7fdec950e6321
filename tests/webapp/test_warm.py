"""Train(warm=...): the worker puts the policy of an earlier round where the trainer looks for it."""

import pytest

from tests.webapp.fake_workers import create_experiment, do_work, find_open_requests
from webapp.experiments import loop, run_folder
from webapp.experiments.execute.train import candidates_of, job_of, warmed


@pytest.fixture
def second_round(db):
    """The open Train request of a second round; the first one's best is its third candidate."""
    row = create_experiment(method="rda_scored", k=3, n=2)
    loop.start(row)
    do_work(row, until="Train")
    (first,) = find_open_requests(row)
    assert first.payload["iteration"] == 1 and "warm" not in first.payload
    from tests.webapp.fake_workers import finish_request

    finish_request(row, first)
    do_work(row, until="Train")
    (request,) = find_open_requests(row)
    return first, request


def test_the_policy_of_the_named_candidate_is_put_in_place(second_round):
    first, request = second_round
    assert request.payload["warm"] == "1-3"
    policies = run_folder.of(first) / "checkpoints" / "policies"
    policies.mkdir(parents=True)
    for index in range(3):
        (policies / f"{index}.pt").write_bytes(b"policy %d" % index)
    assert warmed(request) and (run_folder.of(request) / "warm.pt").read_bytes() == b"policy 2"
    (policies / "2.pt").unlink()
    assert warmed(request)  # it is there already
    assert job_of(request.experiment, request, candidates_of(request)).warm


def test_a_policy_that_is_gone_is_said_to_be_gone(second_round):
    first, request = second_round
    assert not warmed(request) and not run_folder.of(request).exists()
    assert warmed(first) and not job_of(first.experiment, first, candidates_of(first)).warm
