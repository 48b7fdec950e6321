"""Runs with SAC: split invariance, failures that stay alone, seeds, exact continuation, policies."""

import pytest
import torch

from simulation import catalog
from tests.trainer import rewards
from tests.trainer.test_lockstep import CARTPOLE, shard, trained, unnumbered
from trainer import checkpoint
from trainer.evaluation import evaluate
from trainer.learner import has_mixed_precision
from trainer.records import WARM, TrainJob

pytestmark = pytest.mark.slow

SHORT = {
    "worlds": 16,
    "horizon": 8,
    "iterations": 12,
    "updates": 2,
    "batch": 32,
    "replay": 1000,  # less than a run's 1 536 samples
    "learning_starts": 256,
}

exact = pytest.mark.skipif(
    not has_mixed_precision(),
    reason="float32 products differ in their last bits with the number of rows; see test_sac.py",
)


def job(sources: tuple[str, ...] = CARTPOLE, **changed: object) -> TrainJob:
    given = {"seed": 4, "overrides": SHORT, "film_at": ()} | changed
    return TrainJob("Cartpole", sources, "quick-sac", **given)


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    """A run of three candidates, and its folder."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, *trained(folder, job(film_at=(100,)))


@exact
def test_results_do_not_depend_on_how_the_candidates_are_split(finished_run, tmp_path):
    _, together, result = finished_run
    assert all(c.ok and c.samples == 16 * 8 * 12 for c in result.candidates)
    assert not torch.equal(together.learner.actors[0], together.learner.actors[1])
    for first, last in ((0, 2), (2, 3)):
        part, part_result = trained(tmp_path / f"{first}", job(), first, last)
        assert torch.equal(part.learner.actors, together.learner.actors[first:last])
        assert torch.equal(part.learner.critics, together.learner.critics[2 * first : 2 * last])
        assert part_result.candidates == result.candidates[first:last]


@exact
def test_a_failing_candidate_fails_alone_and_says_why(finished_run, tmp_path):
    lockstep, result = trained(tmp_path, job((CARTPOLE[0], rewards.OVERFLOWING, CARTPOLE[2])))
    assert not result.candidates[1].ok and "training diverged" in result.candidates[1].reason
    expected = finished_run[2].candidates
    assert unnumbered((result.candidates[0], result.candidates[2])) == unnumbered((expected[0], expected[2]))
    assert lockstep.collector.env.groups == 2 and len(lockstep.learner.replay.rows) == 2


@exact
def test_several_seeds_in_one_batch_give_what_separate_jobs_give(finished_run, tmp_path):
    result = trained(tmp_path, job((CARTPOLE[1], CARTPOLE[0], CARTPOLE[1]), seeds=(4, 9, 4)))[1]
    assert unnumbered(result.candidates[:1]) == unnumbered(finished_run[2].candidates[1:2])
    assert result.candidates[0].trace == result.candidates[2].trace
    other = trained(tmp_path / "9", job(CARTPOLE[:1], seed=9))[1]
    assert unnumbered(other.candidates) == unnumbered(result.candidates[1:2])


def test_going_on_from_a_checkpoint_gives_the_same_result(finished_run, tmp_path):
    begun = shard(tmp_path, job())
    for _ in range(10):  # the replay has begun to forget
        begun._iterate()
    begun._save()
    continued = shard(tmp_path, job())
    assert continued.iteration == 10
    assert continued.train().candidates == finished_run[2].candidates
    assert torch.equal(continued.learner.critics, finished_run[1].learner.critics)


def test_a_saved_policy_acts_as_it_did_and_can_be_evaluated(finished_run):
    folder, lockstep, _ = finished_run
    path = folder / "checkpoints" / "policies" / "1.pt"
    policy, observations = checkpoint.load_policy(path), torch.randn(5, 4)
    expected = lockstep.learner.mean_actions(observations.expand(3, 5, 4))[1]
    torch.testing.assert_close(policy(observations), expected, rtol=0.05, atol=0.02)  # float32 against bfloat16
    evaluation, episodes = evaluate(path, [0], 2)
    assert evaluation.score is not None and len(episodes) == 2
    assert (folder / "rollouts" / "1-100.npz").exists()


def test_a_run_begins_with_the_policy_of_another(finished_run, tmp_path):
    folder = finished_run[0]
    policies = folder / "checkpoints" / "policies"
    (tmp_path / WARM).write_bytes((policies / "1.pt").read_bytes())
    learner = shard(tmp_path, job(seed=5, warm=True)).learner
    policy = checkpoint.load_policy(policies / "1.pt")
    assert torch.equal(learner.actors, policy.networks.flat.repeat(3, 1))
    assert torch.equal(learner.critics, finished_run[1].learner.critics[2:4].repeat(3, 1))
    assert torch.equal(learner.targets, learner.critics) and learner.replay.size == 0
    assert learner.log_temperature.flatten().tolist() == [policy.networks.log_temperature.item()] * 3
    assert all(c.ok for c in trained(tmp_path, job(seed=5, warm=True))[1].candidates)


def test_a_policy_of_another_algorithm_or_size_is_no_beginning(finished_run, tmp_path):
    policies = finished_run[0] / "checkpoints" / "policies"
    ppo = TrainJob("Cartpole", CARTPOLE[:1], overrides={"worlds": 4, "horizon": 4, "iterations": 1}, film_at=())
    trained(tmp_path / "ppo", ppo)
    for name, source, given, reason in (
        ("a", tmp_path / "ppo" / "checkpoints" / "policies", job(warm=True), "another algorithm than SAC"),
        ("b", policies, TrainJob("Cartpole", CARTPOLE, warm=True), "another algorithm than PPO"),
        ("c", policies, job(warm=True, overrides={**SHORT, "actor_width": 8}), "networks of other sizes"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / WARM).write_bytes((source / "0.pt").read_bytes())
        with pytest.raises(ValueError, match=reason):
            shard(tmp_path / name, given)


@pytest.mark.parametrize("task", list(catalog.list_tasks()))
def test_presets_are_of_the_algorithm_and_size_that_their_names_say(task):
    for name, preset in catalog.get_task(task).presets.items():
        assert preset.algorithm == ("sac" if name.endswith("-sac") else "ppo")
        assert name != "paper-sac" or preset.samples >= 10e6
