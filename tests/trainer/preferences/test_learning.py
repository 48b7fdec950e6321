"""Training from pairs in lockstep: rows that never mix, exact continuation, relabelling, what is reset and when."""

import csv
import hashlib
import json
import os
import signal
from dataclasses import asdict, replace

import pytest
import torch

from simulation import catalog
from tests.trainer import rewards
from tests.trainer.test_lockstep import shard, trained, unnumbered
from tests.trainer.test_run import finished, run, shard_pids, wait_for  # noqa: F401  (run is a fixture)
from trainer.candidate import LEARNED_REWARD
from trainer.preferences import reward_model
from trainer.preferences.algorithms import METHODS, Preferences
from trainer.preferences.learning import PreferenceTraining
from trainer.preferences.session_clock import SessionClock
from trainer.preferences.session_figures import read_sessions
from trainer.records import TrainJob, read_job, resolve_preset, shard_folder, write_json

pytestmark = pytest.mark.slow

SHORT = {"worlds": 20, "horizon": 16, "iterations": 12, "epochs": 2}
SAC_SHORT = {"worlds": 20, "horizon": 8, "iterations": 16, "updates": 2, "batch": 32, "learning_starts": 256}
SAC_SHORT |= {"replay": 2000}
FEW = Preferences(budget=6, segment=8)
FEW_QPA, FEW_RIME = replace(FEW, method="qpa"), replace(FEW, method="rime")
SEVERAL = (FEW, None, replace(FEW, budget=14, truth="metric"), replace(FEW, selection="k-center", equal=0.2))


def ppo(*preferences, **changed):
    sources = (rewards.UPRIGHT,) * len(preferences)
    given = {"overrides": SHORT, "film_at": (), "seed": 4} | changed
    return TrainJob("Cartpole", sources, preferences=preferences, **given)


def sac(*preferences, **changed):
    given = {"preset": "quick-sac", "overrides": SAC_SHORT} | changed
    return ppo(*(replace(one, method="pebble") if one else None for one in preferences), **given)


def sessions(folder, index):
    with (folder / "preferences" / f"{index}.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module", autouse=True)
def small_and_quick():
    """Reward models of this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reward_model, "HIDDEN", (16, 16))
        for name, method in METHODS.items():
            patch.setitem(METHODS, name, replace(method, most_epochs=10))
        yield


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """A finished run of several kinds of candidates."""
    folder = tmp_path_factory.mktemp("several")
    return folder, *trained(folder, ppo(*SEVERAL))


def test_results_do_not_depend_on_the_company(several, tmp_path):
    _, together, result = several
    assert all(c.ok for c in result.candidates)
    for first, last in ((0, 1), (1, 4)):
        part, part_result = trained(tmp_path / f"{first}-{last}", ppo(*SEVERAL), first, last)
        assert part_result.candidates == result.candidates[first:last]
        assert torch.equal(part.learner.networks.flat, together.learner.networks.flat[first:last])
    flat = together.learner.networks.flat
    assert not torch.equal(flat[0], flat[3]), "other pairs, another policy"


def test_a_candidate_without_preferences_trains_as_in_a_job_without_them(several, tmp_path):
    alone = trained(tmp_path, replace(ppo(None), preferences=()))[1]
    assert unnumbered(alone.candidates) == unnumbered(several[2].candidates[1:2])


def test_every_answer_of_the_budget_is_asked_for_and_the_figures_are_written(several):
    folder, lockstep, result = several
    rows = sessions(folder, 2)
    assert [int(row["labels"]) for row in rows] == [2, 4, 6, 8, 10, 12, 14]
    assert [row["accuracy_before"] for row in rows][0] == "" and all(row["accuracy_before"] for row in rows[1:])
    assert not (folder / "preferences" / "1.csv").exists()
    assert all(one.held_out is not None and 0 <= one.held_out <= 1 for one in read_sessions(folder, 2))
    drawn = [one for held in (0, 2, 3) for one in read_sessions(folder, held)[1:]]
    assert all(len(one.metrics) in (0, len(one.points)) for one in drawn) and any(one.metrics for one in drawn)
    assert lockstep._preferences._entropy is None
    learned = result.candidates[0].trace[LEARNED_REWARD]
    assert -1 <= learned["min"] <= learned["max"] <= 1
    assert LEARNED_REWARD not in result.candidates[1].trace
    traced = set(result.candidates[0].trace) - {LEARNED_REWARD}
    assert traced == set(result.candidates[1].trace), "its reward function is traced, though it trains nothing"


def test_no_model_is_copied_where_no_session_is_due(monkeypatch):
    job = ppo(FEW)
    training = PreferenceTraining(catalog.get_task("Cartpole"), resolve_preset(job), job.preferences, [4])
    monkeypatch.setattr(training._model, "freeze", lambda: pytest.fail("it was copied"))
    training.ask(0)
    assert training.hold_sessions(None, 0) == []


def test_skipped_answers_are_no_feedback(tmp_path):
    """The authors' code counts them: its budget is spent on answers that were never given."""
    never = replace(FEW, skip=50.0)
    sometimes = replace(FEW, skip=1.0, budget=20)
    lockstep, result = trained(tmp_path, ppo(never, sometimes))
    assert all(c.ok for c in result.candidates)
    held = sessions(tmp_path, 0)
    assert len(held) > 6, "it goes on to ask beyond the planned sessions"
    assert all((row["labels"], row["skipped"], row["accuracy"]) == ("0", row["asked"], "") for row in held)
    assert lockstep._preferences._learned == [False, True]
    assert LEARNED_REWARD not in result.candidates[0].trace
    for row, before in zip(sessions(tmp_path, 1), [{"labels": 0}, *sessions(tmp_path, 1)], strict=False):
        assert int(row["labels"]) == int(before["labels"]) + int(row["asked"]) - int(row["skipped"])
    assert any(0 < int(row["skipped"]) < int(row["asked"]) for row in sessions(tmp_path, 1))


def test_what_was_skipped_is_asked_for_in_the_planned_sessions_that_are_left():
    wanted = Preferences(budget=49)
    assert [wanted.count_pairs(number, 49 - 7 * number) for number in range(7)] == [7] * 7
    assert wanted.count_pairs(1, 49 - 4) == 8, "three were skipped in the first"
    assert wanted.count_pairs(6, 9) == 9
    assert wanted.count_pairs(7, 2) == 2
    assert wanted.count_pairs(7, 12) == 7


def test_a_session_costs_by_the_labels_that_there_are_then():
    wanted = Preferences(budget=49)
    assert wanted.count_labels_ahead(0, 0) == 7 * sum(range(1, 8))
    assert wanted.count_labels_ahead(5, 35) == 42 + 49
    assert wanted.count_labels_ahead(7, 49) == 0
    clock = SessionClock()
    assert clock.estimate(0) == 0.0 and clock.estimate(91) is None
    for seconds, labels in ((100.0, 1), (1.0, 0), (20.0, 28), (20.0, 35), (30.0, 37)):
        clock.add(seconds, labels)
    assert clock.seconds == 171.0
    assert clock.estimate(50) == pytest.approx(35.0), "as the last three: 0.7 s a label"


def as_method(name):
    """The jobs of `sac`, by another algorithm."""

    def make(*preferences, **changed):
        job = sac(*preferences, **changed)
        return replace(job, preferences=tuple(replace(one, method=name) if one else None for one in job.preferences))

    return make


surf, qpa, rime = as_method("surf"), as_method("qpa"), as_method("rime")


def test_algorithms_on_sac_train_beside_each_other_as_alone(tmp_path):
    asked = (FEW_QPA, replace(FEW, method="pebble"), None, FEW_RIME)
    job = replace(sac(FEW, FEW, None, FEW), preferences=asked)
    result = trained(tmp_path / "together", job)[1]
    assert all(c.ok for c in result.candidates)
    for first, last in ((0, 1), (3, 4)):  # PEBBLE's row is held in test_prior.py
        assert trained(tmp_path / f"{first}", job, first, last)[1].candidates == result.candidates[first:last]


def test_hybrid_replay_begins_with_the_first_reward(tmp_path):
    lockstep = shard(tmp_path, replace(sac(FEW, FEW), preferences=(FEW_QPA, replace(FEW, method="pebble"))))
    preferences, wanted = lockstep._preferences, []
    while len(preferences.sessions[0]) < 3:
        wanted.append((preferences._learned[0], preferences.find_newest(lockstep.iteration)))
        lockstep._iterate()
    assert all(set(newest) == ({0} if learned else set()) for learned, newest in wanted)
    drawn = [newest[0] for _, newest in wanted if newest]
    assert {(one.share, one.samples) for one in drawn} == {(0.5, 10 * 500)}, "ten of Cartpole's episodes"
    assert len({one.seed for one in drawn}) == len(drawn) > 1


def test_a_warm_start_learns_what_the_policy_is_rewarded_with_and_its_critics_go_on(tmp_path, monkeypatch):
    """RIME: five steps for each update, in the rows that want it, until they have learned a reward."""
    job = replace(sac(FEW, FEW), preferences=(replace(FEW, method="pebble"), FEW_RIME))
    lockstep, warm, seen = shard(tmp_path, job), [], []
    preferences, learner = lockstep._preferences, lockstep.learner
    approximate, change = preferences._model.approximate, learner.change_reward
    monkeypatch.setattr(
        preferences._model,
        "approximate",
        lambda rows, x, wanted, steps, batch: (
            warm.append((rows, x, wanted, steps, batch)) or approximate(rows, x, wanted, steps, batch)
        ),
    )
    monkeypatch.setattr(
        learner,
        "change_reward",
        lambda groups, rewards, seeds=None: seen.append((list(groups), seeds)) or change(groups, rewards, seeds),
    )
    while not preferences._learned[1]:
        lockstep._iterate()
        newest = learner.replay.rows[1, learner.replay.size - 160 : learner.replay.size]
        rows, x, wanted, steps, batch = warm[-1]
        assert (rows, steps, batch) == ([1], 5 * 2, 32) and wanted.abs().max() <= 1
        assert torch.equal(x[0, :, :4], newest[:, :4])
        if not preferences._learned[1]:
            assert torch.equal(wanted[0], newest[:, 9])
    begun = lockstep.iteration
    lockstep.train()
    assert len(warm) == begun, "no more after the first session"
    begins = {group: [seeds is not None for groups, seeds in seen if group in groups] for group in (0, 1)}
    assert begins == {0: [True] + 5 * [False], 1: 6 * [False]}
    for row in sessions(tmp_path, 1):
        assert 0 <= int(row["left_out"]) + int(row["turned"]) <= int(row["labels"])
    assert {row["left_out"] for row in sessions(tmp_path, 0)} == {""}


def test_checkpoints_of_versions_without_discriminators_go_on():
    given = (catalog.get_task("Cartpole"), resolve_preset(ppo(FEW)), [FEW], [1])
    state = PreferenceTraining(*given).state_dict()
    del state["discriminators"]
    PreferenceTraining(*given).load_state_dict(state)


@pytest.mark.parametrize(
    "make", [ppo, sac, *(pytest.param(make, marks=pytest.mark.exhaustive) for make in (surf, qpa, rime))]
)
def test_it_goes_on_from_checkpoints_as_if_nothing_had_happened(tmp_path, make):
    job = make(*SEVERAL)
    whole, result = trained(tmp_path / "whole", job)
    for iterations in (1, 3, 5):  # before, at and after the first sessions
        begun = shard(tmp_path / "again", job)
        for _ in range(iterations):
            begun._iterate()
        begun._save()
    again, resumed = trained(tmp_path / "again", job)
    assert resumed.candidates == result.candidates
    for index in (0, 2, 3):
        assert read_sessions(tmp_path / "again", index) == read_sessions(tmp_path / "whole", index)
    first, second = whole._preferences.state_dict(), again._preferences.state_dict()
    assert torch.equal(first["model"]["flat"], second["model"]["flat"])


@pytest.mark.exhaustive
def test_a_run_killed_in_its_sessions_ends_as_an_unbroken_one(run, tmp_path):  # noqa: F811
    overrides = SHORT | {"iterations": 80}
    asked = replace(FEW, budget=4)
    job = ppo(asked, replace(asked, truth="metric"), overrides=overrides, film_at=(10, 40, 70), processes=2)
    whole = finished(run(tmp_path / "whole", job), tmp_path / "whole")
    folder = tmp_path / "broken"
    process = run(folder, job)
    checkpoints = [shard_folder(folder, index, index + 1) / "checkpoint.pt" for index in (0, 1)]
    wait_for(lambda: all(path.exists() for path in checkpoints))
    os.kill(process.pid, signal.SIGKILL)
    wait_for(lambda: not shard_pids(folder))
    result = finished(run(folder, job), folder)
    assert result.candidates == whole.candidates and all(c.ok for c in result.candidates)
    assert [sessions(folder, index) for index in (0, 1)] == [sessions(tmp_path / "whole", index) for index in (0, 1)]


def test_a_candidate_that_fails_leaves_the_others_as_they_are(tmp_path):
    job = replace(ppo(*SEVERAL[:3]), sources=(rewards.UPRIGHT, rewards.NAN_WHEN_LEANING, rewards.UPRIGHT))
    job = replace(job, preferences=(FEW, FEW, SEVERAL[2]))
    _, result = trained(tmp_path / "with", job)
    assert [c.ok for c in result.candidates] == [True, False, True]
    alone = trained(tmp_path / "alone", replace(ppo(FEW, SEVERAL[2]), sources=(rewards.UPRIGHT,) * 2))[1]
    assert unnumbered(alone.candidates) == unnumbered((result.candidates[0], result.candidates[2]))


def test_the_whole_replay_has_the_learned_reward_and_other_candidates_keep_theirs(tmp_path):
    lockstep = shard(tmp_path, sac(FEW, None))
    learner, preferences = lockstep.learner, lockstep._preferences
    while not preferences._learned[0]:
        theirs = learner.replay.rows[1].clone()
        lockstep._iterate()
    new = learner.replay.rows[1][: learner.replay.size - 160]
    assert torch.equal(new, theirs[: len(new)])
    rows = learner.replay.rows[0, : learner.replay.size]
    inputs = torch.cat((rows[:, :4], rows[:, 8:9].clamp(-1, 1)), dim=-1)
    assert torch.allclose(rows[:, 9], preferences._model.predict([0], inputs.unsqueeze(0))[0], atol=1e-6)


@pytest.mark.parametrize("make", [ppo, sac])
def test_values_begin_again_once(tmp_path, monkeypatch, make):
    lockstep, seen = shard(tmp_path, make(FEW, None, replace(FEW, truth="metric"))), []
    change = lockstep.learner.change_reward
    monkeypatch.setattr(
        lockstep.learner,
        "change_reward",
        lambda groups, rewards, seeds=None: seen.append((tuple(groups), seeds)) or change(groups, rewards, seeds),
    )
    lockstep.train()
    for group in (0, 2):
        seeds = [given for groups, given in seen if group in groups]
        assert len(seeds) == 6 and seeds[0] is not None and seeds[1:] == [None] * 5
    assert not [groups for groups, _ in seen if 1 in groups]


def test_the_first_session_is_uniform_and_later_ones_take_what_is_most_disputed(tmp_path, monkeypatch):
    ways = []
    monkeypatch.setattr(
        "trainer.preferences.learning.choose_pairs",
        lambda selection, p, points, asked, count: ways.append((selection, p.shape[1])) or list(range(count)),
    )
    trained(tmp_path, ppo(replace(FEW, budget=14)))
    assert ways == [("disagreement", 20)] * 6


@pytest.mark.parametrize("selection", ["uniform", "disagreement", "entropy+k-center"])
def test_no_pair_is_asked_twice_even_where_segments_are_few(tmp_path, monkeypatch, selection):
    """Whole episodes of a pool that holds the last few: a person would be shown the same two films again."""
    asked = []

    def answer(segments, pairs, *_):
        ends = [step.tobytes() for step in segments.inputs[:, -1].numpy()]
        asked.extend(frozenset(ends[place] for place in pair) for pair in pairs.tolist())
        return ["first"] * len(pairs)

    monkeypatch.setattr("trainer.preferences.learning.ask_teacher", answer)
    monkeypatch.setattr(PreferenceTraining, "_measure_held_out", lambda *_: None)
    monkeypatch.setattr("trainer.preferences.segments.EPISODES_KEPT", 12)
    monkeypatch.setattr("trainer.preferences.segments.LEAST_PLACES", 12)
    monkeypatch.setattr("trainer.preferences.segments.STEPS_KEPT", 12)
    trained(tmp_path, ppo(replace(FEW, budget=42, segment=0, selection=selection)))
    assert len(asked) == len(set(asked)) == 42


def test_the_learned_reward_orders_segments_as_the_teacher_does(tmp_path, monkeypatch):
    """Trained by answers alone: by the last session the model agrees with answers that it has not seen."""
    monkeypatch.setattr(reward_model, "HIDDEN", (64, 64))
    monkeypatch.setitem(METHODS, "prefppo", replace(METHODS["prefppo"], most_epochs=60))
    preferences = Preferences(budget=150, segment=16, selection="uniform")  # so that new answers are a fair sample
    trained(tmp_path, ppo(preferences, overrides=SHORT | {"iterations": 40}))
    rows = sessions(tmp_path, 0)
    assert float(rows[-1]["accuracy"]) > 0.85
    assert sum(float(row["accuracy_before"]) for row in rows[-4:]) / 4 > 0.65
    assert sum(float(row["correlation_before"]) for row in rows[-4:]) / 4 > 0.4


class TestSettings:
    def test_sessions_are_fractions_of_the_budget_in_its_first_half(self):
        sizes = {
            budget: (Preferences(budget=budget).sessions, Preferences(budget=budget).pairs) for budget in (49, 150)
        }
        assert sizes == {49: (7, 7), 150: (10, 15)}
        assert (Preferences(budget=1500).pairs, Preferences(budget=15_000).pairs) == (100, 500)
        assert (Preferences(budget=3).sessions, Preferences(budget=100).sessions) == (3, 7)
        held = [Preferences().session_iteration(number, 1000) for number in range(9)]
        assert held == [20, 89, 157, 226, 294, 363, 431, 500, 569]

    def test_a_job_survives_its_file(self, tmp_path):
        job = ppo(*SEVERAL)
        write_json(tmp_path / "job.json", job)
        assert read_job(tmp_path) == job
        assert [job.preferences_of(index) for index in (0, 1)] == [FEW, None]

    @pytest.mark.parametrize(
        ("wanted", "message"),
        [
            (replace(FEW, method="icpl"), "unknown preference method 'icpl'; known: prefppo, pebble, surf"),
            (replace(FEW, method="pebble"), "PEBBLE .* trains with SAC"),
            (replace(FEW, selection="best"), "unknown selection 'best'"),
            (replace(FEW, truth="beauty"), "unknown truth 'beauty'"),
            (replace(FEW, budget=0), "out of bounds"),
            (replace(FEW, mistake=1.5), "out of bounds"),
            (replace(FEW, gamma=0.0), "out of bounds"),
            (replace(FEW, segment=9), "equally long"),
        ],
    )
    def test_what_cannot_be_learned_from_is_refused(self, wanted, message):
        with pytest.raises(ValueError, match=message):
            resolve_preset(ppo(FEW, wanted))

    def test_a_job_must_have_them_for_each_and_a_metric_where_it_asks_for_one(self):
        with pytest.raises(ValueError, match="1 reward functions, but preferences for 2"):
            resolve_preset(replace(ppo(FEW, FEW), sources=("",)))
        with pytest.raises(ValueError, match="HumanoidJump has no metric"):
            resolve_preset(replace(ppo(replace(FEW, truth="metric"), overrides={}), task="HumanoidJump"))

    def test_they_share_no_experience(self):
        with pytest.raises(ValueError, match="share no experience"):
            resolve_preset(sac(FEW, None, shared_experience=True))

    def test_checkpoints_of_jobs_without_preferences_are_those_of_earlier_versions(self, tmp_path):
        job = replace(ppo(None), preferences=())
        then = ("task", "sources", "preset", "seed", "overrides", "film_at", "rollouts", "warm", "seeds")
        earlier = {name: getattr(job, name) for name in then}
        content = json.dumps([earlier, asdict(resolve_preset(job))], sort_keys=True)
        assert shard(tmp_path / "a", job)._fingerprinted == hashlib.sha256(content.encode()).hexdigest()
        other = shard(tmp_path / "b", replace(job, preferences=(FEW,)))
        assert other._fingerprinted != shard(tmp_path / "a", job)._fingerprinted


def test_keeping_rows_follows_the_candidates():
    job = ppo(*SEVERAL)
    training = PreferenceTraining(catalog.get_task("Cartpole"), resolve_preset(job), SEVERAL, [1, 2, 3, 4])
    training.keep([1, 3])
    assert (training.groups, training.settings, training.seeds) == ([1], [SEVERAL[3]], [4])
    training.keep([0])
    assert training.groups == []
