"""Training that starts from another run's policy."""

import pytest
import torch

from simulation import catalog
from simulation.environment import Environment
from tests.trainer.test_lockstep import CARTPOLE, SHORT, shard, trained
from trainer import checkpoint
from trainer.evaluation import evaluate as evaluate_policy
from trainer.records import WARM, TrainJob

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def earlier_run(tmp_path_factory):
    """The folder of a run whose policies are known."""
    folder = tmp_path_factory.mktemp("before")
    trained(folder, TrainJob("Cartpole", CARTPOLE, seed=4, overrides=SHORT, film_at=()))
    return folder / "checkpoints" / "policies"


def warm(folder, policy, **changed):
    (folder / WARM).write_bytes(policy.read_bytes())
    return TrainJob("Cartpole", CARTPOLE, seed=5, overrides={**SHORT, **changed}, film_at=(), warm=True)


def test_all_candidates_begin_with_the_policy_and_what_it_knew_of_observations(tmp_path, earlier_run):
    lockstep = shard(tmp_path, warm(tmp_path, earlier_run / "1.pt"))
    policy = checkpoint.load_policy(earlier_run / "1.pt")
    assert torch.equal(lockstep.learner.networks.flat, policy.networks.flat.repeat(3, 1))
    observations = torch.randn(3, 8, 4)
    expected = torch.stack([policy(o) for o in observations])
    assert torch.allclose(lockstep.learner.mean_actions(observations), expected, atol=2e-2)  # bfloat16 where there is
    preset = lockstep.preset
    [count] = lockstep.learner.observations.counts.unique()
    assert count == preset.worlds * preset.horizon * preset.iterations > 16 * 16


def test_a_body_that_hardly_moves_does_not_change_what_the_policy_does(tmp_path, earlier_run):
    learner = shard(tmp_path, warm(tmp_path, earlier_run / "1.pt", iterations=100)).learner
    observations = torch.randn(3, 8, 4)
    before = learner.mean_actions(observations)
    for _ in range(10):  # iterations in which all worlds stand still
        learner.observations.update(1e-3 * torch.randn(3, 16 * 16, 4))
    assert torch.allclose(learner.mean_actions(observations), before, atol=0.1)


def test_it_trains_on_from_there_and_a_cold_run_is_as_before(tmp_path, earlier_run):
    policy = checkpoint.load_policy(earlier_run / "1.pt")
    _, result = trained(tmp_path, warm(tmp_path, earlier_run / "1.pt"))
    assert all(c.ok for c in result.candidates)
    after = checkpoint.load_policy(tmp_path / "checkpoints" / "policies" / "1.pt")
    assert not torch.equal(after.networks.flat, policy.networks.flat)
    cold = shard(tmp_path / "cold", TrainJob("Cartpole", CARTPOLE, seed=5, overrides=SHORT, film_at=()))
    assert not torch.equal(cold.learner.networks.flat[0], policy.networks.flat[0])
    assert not cold.learner.observations.counts.any()


def test_an_interrupted_warm_run_goes_on_from_its_checkpoint(tmp_path, earlier_run):
    _, whole = trained(tmp_path / "whole", _job(tmp_path / "whole", earlier_run))
    job = _job(tmp_path / "cut", earlier_run)
    first = shard(tmp_path / "cut", job)
    first._iterate()
    first._save()
    _, result = trained(tmp_path / "cut", job)
    assert [c.trace for c in result.candidates] == [c.trace for c in whole.candidates]


def _job(folder, earlier_run):
    folder.mkdir(exist_ok=True)
    return warm(folder, earlier_run / "0.pt")


def test_a_policy_of_other_networks_is_refused(tmp_path, earlier_run):
    saved = torch.load(earlier_run / "0.pt", weights_only=True)
    saved["shape"]["hidden"] = [8]
    parameters = 4 * 8 + 8 + 8 * 1 + 1 + 4 * 8 + 8 + 8 * 1 + 1 + 1
    torch.save({**saved, "parameters": torch.zeros(parameters)}, earlier_run / "other.pt")
    with pytest.raises(ValueError, match="another preset or for another task"):
        shard(tmp_path, warm(tmp_path, earlier_run / "other.pt"))


def test_a_tasks_upright_policy_stays_up_and_goes_nowhere():
    path = catalog.find_upright_policy("Humanoid", "quick")
    assert (
        catalog.find_upright_policy("Humanoid", "paper") is None
        and catalog.find_upright_policy("Cartpole", "quick") is None
    )
    found, _ = evaluate_policy(path, [0], 4)
    assert found.episode_length.mean > 400 and abs(found.score.mean) < 0.3


@pytest.mark.parametrize("task", ["Humanoid", "HumanoidJump"])
def test_the_policies_that_tasks_keep_stay_up_while_they_explore(task):
    policy = checkpoint.load_policy(catalog.find_upright_policy(task, "quick"), task)
    environment = Environment(task, worlds=16, seed=1)
    fallen = torch.zeros(16, dtype=torch.bool)
    generator = torch.Generator().manual_seed(0)
    for _ in range(200):
        mean = policy(environment.obs_buf)
        noise = torch.randn(mean.shape, generator=generator)
        step = environment.step(mean + policy.networks.log_std[0].exp() * noise)
        fallen |= step.terminated
        environment.reset(step.terminated | step.truncated)
    assert fallen.sum() <= 2


def test_the_h1_stands_while_it_explores():
    policy = checkpoint.load_policy(catalog.find_upright_policy("HumanoidPush", "quick"), "HumanoidPush")
    environment, generator = Environment("HumanoidPush", worlds=16, seed=1), torch.Generator().manual_seed(0)
    for _ in range(300):
        mean = policy(environment.obs_buf)
        environment.step(mean + policy.networks.log_std[0].exp() * torch.randn(mean.shape, generator=generator))
    standing = environment.attributes["head_height"] > 1.4
    assert standing.sum() >= 15, "1.68 m upright; it leans on the table"
