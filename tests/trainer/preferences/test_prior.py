"""Learned reward = program + model: what is learned, what kept samples are worth, exact continuation."""

import os
import signal
from dataclasses import replace

import pytest
import torch

from simulation import catalog
from tests.trainer.preferences.test_learning import (
    FEW,
    ppo,
    sac,
    sessions,
    small_and_quick,  # noqa: F401  (a fixture for every test here)
)
from tests.trainer.test_lockstep import shard, trained
from tests.trainer.test_run import finished, run, shard_pids, wait_for  # noqa: F401  (run is a fixture)
from trainer.preferences import reward_model
from trainer.preferences.algorithms import Preferences
from trainer.preferences.labels import Labels
from trainer.preferences.prior import Priors
from trainer.preferences.reward_model import RewardModel
from trainer.records import fingerprint_job, resolve_preset, shard_folder

pytestmark = pytest.mark.slow

PRIOR = replace(FEW, prior=True, truth="metric")


def test_the_model_learns_what_the_answers_say_beyond_the_program(monkeypatch):
    """All answers go against the program's sums, which differ by 1 a segment: both together say what was answered."""
    monkeypatch.setattr(reward_model, "LEARNING_RATE", 3e-3)
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(64, 2, 5, 3, generator=generator)
    better = x[..., 0].sum(-1).argmax(1)
    program = torch.zeros(64, 2, 5, 1)
    program[torch.arange(64), 1 - better] = 0.2
    inputs, valid = torch.cat((x, program), dim=-1), torch.ones(64, 2, 5, dtype=torch.bool)
    model = RewardModel(3, [1], prior=True)
    alone = model.member_returns(0, inputs.flatten(0, 1), valid.flatten(0, 1)).view(3, 64, 2)
    assert (alone.argmax(-1) == better).float().mean() < 0.2, "before it has learned, the program decides"
    plain = model.member_returns(0, torch.cat((x, 0 * program), dim=-1).flatten(0, 1), valid.flatten(0, 1))
    torch.testing.assert_close(alone, plain.view(3, 64, 2) + program.sum((-1, -2)), atol=1e-5, rtol=1e-5)
    (fit,) = model.fit([0], [Labels(inputs, valid, torch.nn.functional.one_hot(better, 2).float())], 2000)
    assert fit.accuracy > 0.8


@pytest.mark.parametrize(
    ("rewards", "unit"),
    [
        (torch.ones(160), 1.0),
        (torch.full((160,), -1e-3), 1e-3),
        (1000.0 + torch.linspace(-1, 1, 160), 1000.0),
        (1e-5 * torch.tensor([1.0, -1.0]).repeat(80), 1e-5),
        (1.0 + 0.1 * torch.tensor([1.0, -1.0]).repeat(80), 0.1),
        (torch.zeros(160), 1.0),
        (torch.full((160,), 1e-9), 1.0),
    ],
)
def test_a_model_weighs_as_much_as_the_program_varies_or_is(rewards, unit):
    priors = Priors([PRIOR])
    priors.observe(0, rewards)
    assert priors.unit(0) == pytest.approx(unit, rel=1e-3)
    again = Priors([PRIOR])
    again.load_state_dict(priors.state_dict())
    assert again.unit(0) == priors.unit(0)


def test_a_training_that_began_with_the_unit_of_before_keeps_it():
    priors = Priors([FEW, PRIOR])
    priors.observe(1, torch.ones(160))
    earlier = [{name: saved[name] for name in ("mean", "variance", "count")} for saved in priors.state_dict()]
    went_on = Priors([FEW, PRIOR])
    went_on.load_state_dict(earlier)
    saved_again = Priors([FEW, PRIOR])
    saved_again.load_state_dict(went_on.state_dict())
    saved_again.keep([1])
    assert went_on.unit(1) == saved_again.unit(0) == pytest.approx(1e-5**0.5)


def test_answers_outvote_a_program_that_hardly_varies():
    """Steps with x > 0 are better; the program says 1 at each, and less by one in a thousand where x > 0."""
    x = torch.randn(64, 2, 5, 1, generator=torch.Generator().manual_seed(3))
    program = 1.0 - 1e-3 * (x > 0)
    priors = Priors([PRIOR])
    priors.observe(0, program.flatten())
    inputs = priors.convert_units(0, torch.cat((x, program), dim=-1))
    better = (x > 0).sum((-1, -2)).argmax(1)
    model = RewardModel(1, [1], prior=True)
    labels = Labels(inputs, torch.ones(64, 2, 5, dtype=torch.bool), torch.nn.functional.one_hot(better, 2).float())
    model.fit([0], [labels], 300)
    learned = priors.unit(0) * model.predict([0], inputs.view(1, -1, 2))[0]
    good = learned[x.flatten() > 0.5].mean() - learned[x.flatten() < -0.5].mean()
    assert good > 0.1, "the policy is rewarded for what was answered"


def test_before_the_first_session_the_program_is_the_reward_and_afterwards_both_are(tmp_path):
    job = sac(PRIOR, FEW)
    lockstep = shard(tmp_path, replace(job, overrides={**job.overrides, "replay": 4000}))
    learner, preferences, programs = lockstep.learner, lockstep._preferences, []
    collect = lockstep.collector.collect

    def collect_and_note(*given):
        horizon = collect(*given)
        programs.append(horizon.experience.rewards[0].flatten())
        return horizon

    lockstep.collector.collect = collect_and_note
    critics = learner.critics[:2].clone()
    while lockstep.iteration < lockstep.preset.iterations:
        lockstep._iterate()
        rows, program = learner.replay.rows[0, : learner.replay.size], torch.cat(programs)
        if not preferences._learned[0]:
            assert torch.equal(rows[:, 9], program)
            critics = learner.critics[:2].clone()
            continue
        inputs = torch.cat((rows[:, :4], rows[:, 8:9].clamp(-1, 1), torch.zeros(len(rows), 1)), dim=-1)
        wanted = program + preferences._priors.unit(0) * preferences._model.predict([0], inputs[None])[0]
        torch.testing.assert_close(rows[:, 9], wanted, atol=1e-5, rtol=1e-5)
        if len(preferences.sessions[0]) == 1 and lockstep.iteration == 1:
            assert torch.equal(learner.critics[:2], critics), "its critics go on"
    unit = preferences._priors.unit(0)
    assert unit == pytest.approx(float(torch.cat(programs)[: 160 * first_session(preferences)].std()), rel=0.01)


def first_session(preferences):
    return preferences.sessions[0][0].samples // 160


@pytest.mark.parametrize("make", [pytest.param(ppo, marks=pytest.mark.exhaustive), sac])
def test_company_changes_nothing(tmp_path, make):
    job = make(PRIOR, FEW, None)
    together = trained(tmp_path / "together", job)[1]
    assert all(c.ok for c in together.candidates)
    for first, last in ((0, 1), (1, 3)):
        assert trained(tmp_path / str(first), job, first, last)[1].candidates == together.candidates[first:last]
    assert sessions(tmp_path / "together", 0) == sessions(tmp_path / "0", 0)


@pytest.mark.exhaustive
def test_a_killed_run_ends_as_if_it_had_not_been(tmp_path, run):  # noqa: F811
    job = replace(sac(PRIOR), overrides={**sac(PRIOR).overrides, "iterations": 60})
    whole = finished(run(tmp_path / "whole", job), tmp_path / "whole")
    folder = tmp_path / "killed"
    process = run(folder, job)
    wait_for(lambda: (shard_folder(folder, 0, 1) / "checkpoint.pt").exists())
    os.kill(process.pid, signal.SIGKILL)
    wait_for(lambda: not shard_pids(folder))
    result = finished(run(folder, job), folder)
    assert result.candidates == whole.candidates and result.candidates[0].ok


def test_a_teacher_that_compares_the_program_itself_is_refused():
    with pytest.raises(ValueError, match="the teacher must compare the metric"):
        resolve_preset(ppo(replace(PRIOR, truth="reward")))
    resolve_preset(ppo(replace(PRIOR, truth="reward", outside=True)))


def test_jobs_without_programs_keep_their_fingerprint():
    """The number is that of the version before there were programs: its trainings go on."""
    job = ppo(Preferences(budget=6, segment=8))
    assert fingerprint_job(job, resolve_preset(job), "cpu") == BEFORE
    assert fingerprint_job(ppo(PRIOR), resolve_preset(ppo(PRIOR)), "cpu") != BEFORE
    assert catalog.get_task("Cartpole").revision == job.revision == 1


BEFORE = "80cf1efcd7c769652559b88676cf005c784335164c7ccbb4d46a3654fc8e5af8"
