"""Shards in this process: split invariance, failures that stay alone, exact continuation."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from simulation import catalog
from simulation.rollout import read_rollout
from tests.trainer import rewards
from trainer import checkpoint
from trainer.records import CandidateResult, TrainJob, TrainResult, shard_folder
from trainer.training import Lockstep

pytestmark = pytest.mark.slow

CARTPOLE = (rewards.UPRIGHT, rewards.STILL, rewards.FALLING)
SHORT = {"worlds": 16, "horizon": 16, "iterations": 6}


def shard(folder: Path, job: TrainJob, first: int = 0, last: int | None = None) -> Lockstep:
    last = last or len(job.sources)
    shard_folder(folder, first, last).mkdir(parents=True, exist_ok=True)
    lockstep = Lockstep(folder, job, first, last, threads=1)
    lockstep.prepare()
    return lockstep


def trained(folder: Path, job: TrainJob, first: int = 0, last: int | None = None) -> tuple[Lockstep, TrainResult]:
    lockstep = shard(folder, job, first, last)
    return lockstep, lockstep.train()


def unnumbered(results: tuple[CandidateResult, ...]) -> list[CandidateResult]:
    return [replace(result, index=0) for result in results]


def ant_sources() -> tuple[str, ...]:
    reference = catalog.read_reference_reward("Ant")
    return (
        reference,
        reference.replace("-0.005 *", "-0.05 *"),
        reference.replace("progress + alive", "progress - alive"),
    )


def test_results_do_not_depend_on_how_the_candidates_are_split(tmp_path):
    """Of a robot with contacts."""
    job = TrainJob("Ant", ant_sources(), seed=4, overrides=SHORT, film_at=())
    together, result = trained(tmp_path / "together", job)
    assert not torch.equal(together.learner.networks.flat[0], together.learner.networks.flat[1])
    for first, last in ((0, 2), (2, 3), (1, 2)):
        part, part_result = trained(tmp_path / f"{first}", job, first, last)
        assert torch.equal(part.learner.networks.flat, together.learner.networks.flat[first:last])
        assert part_result.candidates == result.candidates[first:last]


def test_neither_do_those_of_a_robot_whose_products_are_small(tmp_path):
    """Of Cartpole with its quick settings, whose 64 worlds and 32 neurons make products of a few thousand steps."""
    source = catalog.read_reference_reward("Cartpole")
    job = TrainJob("Cartpole", (source,) * 3, seeds=(0, 1, 2), overrides={"iterations": 5}, film_at=())
    together, _ = trained(tmp_path / "together", job)
    alone, _ = trained(tmp_path / "alone", job, 0, 1)
    assert torch.equal(alone.learner.networks.flat[0], together.learner.networks.flat[0])


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (rewards.NAN_WHEN_LEANING, "sqrt|finite|not a number|NaN"),
        pytest.param(rewards.OVERFLOWING, "training diverged", marks=pytest.mark.exhaustive),
        pytest.param(rewards.CHANGING, "components changed", marks=pytest.mark.exhaustive),
        (rewards.HEADER + "    return open('x')\n", "allow-list"),
    ],
)
def test_a_failing_candidate_fails_alone_and_says_why(tmp_path, bad, reason):
    job = TrainJob("Cartpole", (CARTPOLE[0], bad, CARTPOLE[2]), overrides=SHORT, film_at=(100,))
    lockstep, result = trained(tmp_path / "with", job)
    without = trained(tmp_path / "without", replace(job, sources=(CARTPOLE[0], CARTPOLE[2])))[1]
    failed = result.candidates[1]
    assert not failed.ok
    assert re.search(reason, failed.reason), failed.reason
    survivors = (result.candidates[0], result.candidates[2])
    assert all(c.ok for c in survivors)
    assert unnumbered(survivors) == unnumbered(without.candidates)
    assert lockstep.collector.env.groups == 2
    assert sorted(p.name for p in (tmp_path / "with" / "rollouts").iterdir()) == ["0-100.npz", "2-100.npz"]


def test_candidates_that_fail_together_fail_each_for_its_own_reason(tmp_path):
    sources = (rewards.OVERFLOWING, CARTPOLE[0], rewards.CHANGING)
    diverged, good, changed = trained(tmp_path, TrainJob("Cartpole", sources, overrides=SHORT, film_at=()))[
        1
    ].candidates
    assert "training diverged" in diverged.reason and "components changed" in changed.reason
    assert good.ok and not diverged.ok and not changed.ok


def test_a_run_whose_candidates_all_fail_ends_early(tmp_path):
    job = TrainJob("Cartpole", (rewards.OVERFLOWING,) * 2, overrides=SHORT)
    result = trained(tmp_path, job)[1]
    assert not any(c.ok for c in result.candidates)
    assert all(c.samples < SHORT["worlds"] * SHORT["horizon"] * SHORT["iterations"] for c in result.candidates)


def test_continuing_from_a_checkpoint_gives_the_same_result(tmp_path):
    job = TrainJob("Cartpole", (*CARTPOLE, rewards.NAN_WHEN_LEANING), overrides=SHORT, film_at=(10, 100))
    whole, expected = trained(tmp_path / "whole", job)
    broken = shard(tmp_path / "broken", job)
    for _ in range(4):
        broken._iterate()
        broken._film()
    broken._save()
    continued, result = trained(tmp_path / "broken", job)
    assert continued.iteration == SHORT["iterations"]
    assert torch.equal(whole.learner.networks.flat, continued.learner.networks.flat)
    assert result.candidates == expected.candidates


def test_a_checkpoint_of_another_job_is_not_continued(tmp_path):
    job = TrainJob("Cartpole", CARTPOLE, overrides=SHORT, film_at=())
    lockstep = shard(tmp_path, job)
    lockstep._iterate()
    lockstep._save()
    assert shard(tmp_path, job).iteration == 1
    assert shard(tmp_path, replace(job, seed=5)).iteration == 0


def test_cancelling_keeps_what_was_traced(tmp_path):
    lockstep = shard(tmp_path, TrainJob("Cartpole", CARTPOLE, overrides=SHORT, film_at=()))
    lockstep._iterate()
    (tmp_path / "cancel").touch()
    result = lockstep.train()
    assert result.cancelled
    assert {(c.ok, c.reason) for c in result.candidates} == {(False, "cancelled")}
    assert all(len(c.trace["total"]["samples"]) == 1 for c in result.candidates)


def test_traces_hold_every_component_and_the_hidden_metric_apart(tmp_path):
    job = TrainJob("Cartpole", (rewards.STILL,), overrides={**SHORT, "iterations": 12}, film_at=())
    result = trained(tmp_path, job)[1].candidates[0]
    assert set(result.trace) == {"total", "still", "centred", "episode_length"}
    for values in result.trace.values():
        assert len(values["samples"]) == 10
        assert values["min"] <= values["mean"] <= values["max"]
    sums = [a + b for a, b in zip(*(result.trace[n]["samples"] for n in ("still", "centred")), strict=True)]
    assert result.trace["total"]["samples"] == pytest.approx(sums, rel=1e-4)
    assert result.rts == max(result.metric_trace["all"])
    assert result.final_score == result.metric_trace["all"][-1]
    assert result.metric_trace["samples"] == pytest.approx(result.trace["episode_length"]["samples"])
    assert result.samples == 12 * 16 * 16


def test_a_saved_policy_acts_as_it_was_filmed(tmp_path):
    job = TrainJob("Cartpole", CARTPOLE, overrides=SHORT, film_at=(100,))
    lockstep = trained(tmp_path, job)[0]
    policy = checkpoint.load_policy(tmp_path / "checkpoints" / "policies" / "1.pt")
    assert policy.task == "Cartpole"
    observations = torch.randn(5, 4)
    expected = lockstep.learner.mean_actions(observations.expand(3, 5, 4))[1]
    torch.testing.assert_close(policy(observations), expected, rtol=0.05, atol=0.02)  # float32 against bfloat16
    rollout = read_rollout(tmp_path / "rollouts" / "1-100.npz")
    assert rollout.qpos.shape == (600, 2) and rollout.restart[0]


def test_a_final_policy_is_recorded_from_several_starts_with_what_its_rewards_were_worth(tmp_path):
    job = TrainJob("Cartpole", (rewards.UPRIGHT,), overrides=SHORT, film_at=(30, 100), rollouts=3)
    trained(tmp_path, job)
    names = ["0-030", "0-100", "0-100-2", "0-100-3"]
    assert sorted(path.stem for path in (tmp_path / "rollouts").iterdir()) == names
    early, *found = (read_rollout(tmp_path / "rollouts" / f"{name}.npz") for name in names)
    assert not early.components and len({rollout.qpos[0].tobytes() for rollout in found}) == 3
    for rollout in found:
        assert list(rollout.components) == ["total", "upright"]
        for values in rollout.components.values():
            assert values == pytest.approx(1 - rollout.qpos[:, 1] ** 2, abs=1e-5)
    once = replace(job, rollouts=1)
    trained(tmp_path / "once", once)
    assert (read_rollout(tmp_path / "once" / "rollouts" / "0-100.npz").qpos == found[0].qpos).all()


def test_filming_does_not_change_training(tmp_path):
    job = TrainJob("Cartpole", CARTPOLE[:1], overrides=SHORT, film_at=(10, 30, 100))
    filmed = trained(tmp_path / "a", job)[1]
    unfilmed = trained(tmp_path / "b", replace(job, film_at=()))[1]
    assert filmed.candidates == unfilmed.candidates


def test_a_world_that_diverges_is_counted_and_training_goes_on(tmp_path):
    job = TrainJob("Cartpole", CARTPOLE[:2], overrides=SHORT, film_at=())
    lockstep = shard(tmp_path, job)
    lockstep.collector.env._physics._batch.state[SHORT["worlds"] + 3] = torch.nan
    result = lockstep.train()
    assert [c.nan_worlds for c in result.candidates] == [0, 1]
    assert all(c.ok for c in result.candidates)


def test_a_simulation_that_keeps_diverging_fails_its_candidate_alone(tmp_path, monkeypatch):
    lockstep = shard(tmp_path, TrainJob("Cartpole", CARTPOLE[:2], overrides=SHORT, film_at=()))
    physics = lockstep.collector.env._physics
    step = physics.step

    def explode(ctrl):
        physics._batch.state[SHORT["worlds"] :] = torch.nan
        return step(ctrl)

    monkeypatch.setattr(physics, "step", explode)
    stable, unstable = lockstep.train().candidates
    assert stable.ok and stable.nan_worlds == 0
    reason = "the simulation diverged in 256 of 256 steps: Cartpole's model is unstable (after 256 samples)"
    assert (unstable.ok, unstable.reason) == (False, reason)


def test_a_filmed_policy_that_falls_starts_again_until_the_clip_is_full(tmp_path):
    trained(tmp_path, TrainJob("Cartpole", CARTPOLE, overrides={**SHORT, "iterations": 1}))
    first, other = (read_rollout(tmp_path / "rollouts" / f"{index}-100.npz") for index in (0, 1))
    assert first.restart.sum() > 2
    starts = first.qpos[first.restart]
    assert abs(starts).max() <= 0.1
    assert (starts[0] == other.qpos[0]).all()
    assert abs(first.qpos[:-1][first.restart[1:], 1]).min() > 0.5
    assert (first.fell[1:] == first.restart[1:]).all() and not first.fell[0]
