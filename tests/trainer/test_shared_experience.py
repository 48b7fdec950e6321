"""Candidates that learn from the experience of all, each with rewards of its own function."""

from dataclasses import replace

import pytest
import torch

from simulation.environment import Environment
from simulation.rewards.contract import compile_reward
from tests.trainer import rewards
from tests.trainer.test_lockstep import CARTPOLE, shard, trained
from tests.trainer.test_sac import experience, learner
from tests.trainer.test_sac_runs import SHORT
from trainer.records import TrainJob, count_states_at_once, resolve_preset
from trainer.replay_rows import pack_rows, pack_together, unpack_together
from trainer.run import split
from trainer.sac import SAC
from trainer.scoring import Scorer, score_horizon

pytestmark = pytest.mark.slow

STATES = 16 * 8
"""Of a candidate in one horizon."""


def job(sources: tuple[str, ...] = CARTPOLE, shared: bool = True, **changed: object) -> TrainJob:
    overrides = SHORT | {"replay": 3000} | changed
    return TrainJob("Cartpole", sources, "quick-sac", seed=4, overrides=overrides, film_at=(), shared_experience=shared)


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    """A run of three candidates."""
    return trained(tmp_path_factory.mktemp("whole"), job())


def test_every_candidates_states_have_the_rewards_of_all_functions(tmp_path):
    lockstep = shard(tmp_path, job(iterations=3))
    lockstep.train()
    (rows,) = lockstep.learner.replay.state_dict()["rows"]
    assert rows.shape == (3 * 3 * STATES, 4 + 4 + 1 + 1 + 3)
    rows = rows[rows[:, 9] == 1]  # elsewhere the next observation is that of another episode
    position, _, angle, velocity = rows[:, 4:8].unbind(1)
    upright = 1 - angle.square()
    still = (-velocity.abs()).exp() + 0.1 * (-position.abs()).exp()
    torch.testing.assert_close(rows[:, 10:], torch.stack([upright, still, angle.abs()], 1))
    states = rows[:, :4].unique(dim=0)
    assert len(states) > 2 * 3 * STATES, "the three have lived through different things"


def test_minibatches_have_equal_states_and_own_rewards():
    data = experience(2)
    of_all = torch.arange(2 * 2 * 8 * 4.0).view(2, 2, 8, 4)
    (together,) = pack_together(data, of_all)
    chosen = [0, 5, 31, 32, 63]
    first, second = unpack_together(together[chosen], 3 + 3 + 2 + 1)
    assert (first[:, 8].tolist(), second[:, 8].tolist()) == ([0, 5, 31, 32, 63], [64, 69, 95, 96, 127])
    expected = pack_rows(data).flatten(0, 1)[chosen]
    for rows in (first, second):
        assert torch.equal(rows[:, [*range(8), 9]], expected[:, [*range(8), 9]])


def test_traces_and_scales_are_of_what_a_candidate_did_itself(tmp_path):
    lockstep = shard(tmp_path, job())
    noise = lockstep._noise.normal(8, 16, 1)
    horizon = lockstep.collector.collect(lockstep.learner, noise)
    shared = horizon.experience
    for group, score in enumerate(horizon.scores):
        own = shared.rewards_of_all[group, group]
        assert torch.equal(shared.rewards[group], own)
        assert score.sums["total"] == pytest.approx(own.sum(dtype=torch.float64).item())
    alone = shard(tmp_path / "alone", job(shared=False))
    lonely = alone.collector.collect(alone.learner, noise)
    assert lonely.experience.rewards_of_all is None
    torch.testing.assert_close(shared.rewards, lonely.experience.rewards)


def test_one_candidate_learns_as_without_sharing(tmp_path):
    shared, result = trained(tmp_path / "shared", job(CARTPOLE[:1]))
    alone, expected = trained(tmp_path / "alone", job(CARTPOLE[:1], shared=False))
    assert result.candidates == expected.candidates
    assert torch.equal(shared.learner.actors, alone.learner.actors)
    assert torch.equal(shared.learner.critics, alone.learner.critics)


def test_a_candidate_learns_from_the_others(finished_run, tmp_path):
    alone = trained(tmp_path, job(CARTPOLE[:1]))[0]
    assert not torch.equal(finished_run[0].learner.actors[0], alone.learner.actors[0])
    statistics = finished_run[0].learner.observations.mean
    assert torch.equal(statistics[0], statistics[2]), "of all that was seen"


def test_going_on_from_a_checkpoint_gives_the_same_result(finished_run, tmp_path):
    begun = shard(tmp_path, job())
    for _ in range(10):  # the replay has begun to forget
        begun._iterate()
    begun._save()
    continued = shard(tmp_path, job())
    assert continued.iteration == 10
    assert continued.train().candidates == finished_run[1].candidates
    assert torch.equal(continued.learner.critics, finished_run[0].learner.critics)


def test_a_failing_candidate_fails_alone_and_leaves_the_replay_finite(tmp_path):
    lockstep, result = trained(tmp_path, job((CARTPOLE[0], rewards.NAN_WHEN_LEANING, CARTPOLE[2])))
    assert [c.ok for c in result.candidates] == [True, False, True]
    replay = lockstep.learner.replay
    assert replay.rows.shape[2] == 4 + 4 + 1 + 1 + 2 and replay.rows.isfinite().all()
    angle = replay.rows[0, : replay.size, 6]
    kept = replay.rows[0, : replay.size, 9] == 1
    torch.testing.assert_close(replay.rows[0, : replay.size, 11][kept], angle.abs()[kept])


def test_a_reward_that_fails_in_anothers_states_fails():
    source = rewards.HEADER + "    lean = torch.sqrt(0.1 - dof_pos[:, 1] ** 2)\n    return lean, {'lean': lean}\n"
    scorers = [Scorer(compile_reward(text, "Cartpole")) for text in (source, rewards.FALLING)]
    env = Environment("Cartpole", worlds=2, groups=2)
    angles = torch.tensor([[0.0, 0.1], [0.0, -0.1], [0.0, 0.5], [0.0, 0.2]])
    reached = [env.attributes | {"dof_pos": angles}]
    assert [score.reason for score in score_horizon(env, scorers, reached)] == ["", ""]
    failed, sound = score_horizon(env, scorers, reached, of_all=True)
    assert failed.reason and failed.rewards.tolist() == [0] * 4
    assert sound.rewards.tolist() == pytest.approx([0.1, 0.1, 0.5, 0.2]) and sound.sums["total"] == pytest.approx(0.7)


def test_actions_that_are_not_finite_reach_nobody_elses_replay():
    data = experience(2)
    data.actions[1, 3] = torch.nan
    shared = SAC(3, 2, learner(1).preset, [1, 1], mixed_precision=False, shared_experience=True)
    data = replace(data, rewards_of_all=torch.zeros(2, 2, 8, 4))
    shared.replay.add(pack_together(data, data.rewards_of_all))
    assert shared.replay.rows.isfinite().all()


def test_what_cannot_be_shared_is_refused_and_one_process_holds_all(tmp_path, monkeypatch):
    monkeypatch.setenv("PREFINE_DEVICE", "cpu")
    with pytest.raises(ValueError, match="only SAC learns from others' experience, and the preset 'quick' is of PPO"):
        resolve_preset(TrainJob("Cartpole", CARTPOLE, shared_experience=True))
    with pytest.raises(ValueError, match="need one seed"):
        resolve_preset(replace(job(), seeds=(1, 2, 3)))
    for shared, processes in ((True, 1), (False, 2)):
        folder = tmp_path / str(processes)
        folder.mkdir()
        assert len(split(folder, replace(job(shared=shared), processes=2))) == processes
    assert count_states_at_once(job()) == 3 * count_states_at_once(job(shared=False)) == 3 * STATES
