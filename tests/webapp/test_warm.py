"""Train(warm=...): the worker puts the policy of an earlier round where the trainer looks for it."""

import pytest

from tests.webapp.fake_workers import create_experiment, do_work, find_open_requests
from webapp.experiments import loop, run_folder
from webapp.experiments.execute.train import build_job, fetch_warm_policy, find_candidates


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
    policies = run_folder.get_folder(first) / "checkpoints" / "policies"
    policies.mkdir(parents=True)
    for index in range(3):
        (policies / f"{index}.pt").write_bytes(b"policy %d" % index)
    assert fetch_warm_policy(request) and (run_folder.get_folder(request) / "warm.pt").read_bytes() == b"policy 2"
    (policies / "2.pt").unlink()
    assert fetch_warm_policy(request)  # it is there already
    assert build_job(request.experiment, request, find_candidates(request)).warm


def test_a_policy_that_is_gone_is_said_to_be_gone(second_round):
    first, request = second_round
    assert not fetch_warm_policy(request) and not run_folder.get_folder(request).exists()
    assert fetch_warm_policy(first) and not build_job(first.experiment, first, find_candidates(first)).warm
