"""Training from answers that others than a teacher give: it stops, it is filmed, it goes on bit for bit."""

import json
import os
import signal
from dataclasses import replace

import pytest
import torch

from simulation import catalog
from simulation.rollout import read_rollout
from tests.trainer.preferences.test_learning import (
    FEW,
    SAC_SHORT,
    SHORT,
    ppo,
    sac,
    sessions,
    small_and_quick,  # noqa: F401  (a fixture of this module, too)
)
from tests.trainer.test_lockstep import shard, trained
from tests.trainer.test_run import finished, run, shard_pids, wait_for  # noqa: F401  (run is a fixture)
from trainer.launch import holds_other_job
from trainer.preferences import exchange, reward_model
from trainer.preferences.algorithms import count_segment_steps, derive_seed
from trainer.preferences.session_figures import read_sessions
from trainer.process import EXIT_WAITS
from trainer.records import read_progress, shard_folder, write_json

pytestmark = pytest.mark.slow


def outside(job):
    """The same job, answered from files."""
    return replace(job, preferences=tuple(one and replace(one, outside=True) for one in job.preferences))


def teach(lockstep, group=0):
    """What the teacher would answer to the pairs that this training waits with."""
    preferences = lockstep._preferences
    row = preferences.groups.index(group)
    query = preferences._queries[row]
    segments = preferences._segments.segments(row, query.places)
    seed = derive_seed("session", preferences.seeds[row], lockstep.iteration)
    return preferences._ask_teacher(row, segments, query.pairs, seed)


def answer(folder, lockstep, answers=None):
    """Answer what a training waits for; the number of the session."""
    for group in lockstep._preferences.list_asked_outside():
        index = lockstep.active[group].index
        session = len(lockstep._preferences.sessions_of(group)) + 1
        queries = exchange.read_queries(folder, index, session)
        given = teach(lockstep, group) if answers is None else answers[: len(queries.pairs)]
        exchange.write_answers(folder, index, session, queries.digest, given)
    return session


def train_in_slices(folder, job):
    """Train to the end, every slice in a training that knows only its files; how many there were."""
    slices = 0
    while True:
        lockstep, result = trained(folder, job)
        slices += 1
        if result is not None:
            return lockstep, result, slices
        if slices == 1:
            assert shard(folder, job).train() is None, "without answers it waits at the same place"
        answer(folder, lockstep)


@pytest.mark.parametrize("make", [ppo, pytest.param(sac, marks=pytest.mark.exhaustive)])
def test_answers_from_files_give_the_bits_that_the_teacher_gives(tmp_path, make):
    job = make(replace(FEW, equal=0.2), None, replace(FEW, budget=4))
    whole, result = trained(tmp_path / "teacher", job)
    again, resumed, slices = train_in_slices(tmp_path / "files", outside(job))
    assert slices == 1 + len({row["samples"] for index in (0, 2) for row in sessions(tmp_path / "teacher", index)})
    assert resumed.candidates == result.candidates
    for index in (0, 2):
        assert sessions(tmp_path / "files", index) == sessions(tmp_path / "teacher", index)
        assert {one.held_out for one in read_sessions(tmp_path / "files", index)} == {None}, "nobody answers them"
    first, second = whole._preferences.state_dict(), again._preferences.state_dict()
    assert torch.equal(first["model"]["flat"], second["model"]["flat"])
    assert again._preferences.find_next_session() is None


def test_segments_are_filmed_as_they_were_seen(tmp_path):
    lockstep, result = trained(tmp_path, outside(ppo(FEW)))
    assert result is None
    queries = exchange.read_queries(tmp_path, 0, 1)
    assert (queries.session, len(queries.pairs)) == (1, 1)
    ((query, segments),) = lockstep._preferences.list_asked_outside().values()
    for number in range(queries.segments):
        rollout = read_rollout(exchange.get_segment_file(tmp_path, 0, 1, number))
        steps = int(segments.valid[number].sum())
        assert rollout.whole and len(rollout.qpos) == steps and rollout.restart.sum() == 1
        seen = segments.inputs[number, -steps:, 0:2]  # Cartpole sees its positions in the order position, angle
        assert rollout.qpos.shape[1] == 2 and torch.allclose(seen[:, 0].double(), torch.tensor(rollout.qpos[:, 0]))
    progress = lockstep._compute_wait()
    assert progress == lockstep.iteration / 12


def test_answers_about_other_pairs_end_the_training_with_a_reason(tmp_path):
    job = outside(ppo(FEW))
    trained(tmp_path, job)
    exchange.write_answers(tmp_path, 0, 1, "of other pairs", ["first"])
    with pytest.raises(ValueError, match="does not answer the pairs"):
        trained(tmp_path, job)


def test_an_answer_that_is_taken_back_leaves_the_reward_model(tmp_path):
    """From the next session on, nothing in the model comes from it: it learns again from the answers that are left."""
    job = outside(ppo(replace(FEW, budget=14)))
    for _ in range(2):
        lockstep, _ = trained(tmp_path, job)
        answer(tmp_path, lockstep, ["first", "second"])
    exchange.write_answers(
        tmp_path, 0, 1, exchange.read_queries(tmp_path, 0, 1).digest, ["skip", "second"]
    )  # of the first session, which was learned from
    lockstep, _ = trained(tmp_path, job)
    preferences = lockstep._preferences
    assert preferences._origins[0] == [(1, 1), (2, 0), (2, 1)]
    assert sessions(tmp_path, 0)[-1]["labels"] == "3"
    mixed = preferences._model._dtype is not None
    fresh = reward_model.RewardModel(5, [preferences._model._seeds[0]], mixed_precision=mixed)
    fresh.fit([0], preferences._labels, 10)
    assert torch.equal(fresh.flat, preferences._model.flat)
    while (done := trained(tmp_path, job))[1] is None:
        answer(tmp_path, done[0], ["first", "second", "equal"])
    held = sessions(tmp_path, 0)
    assert held[-1]["labels"] == "14", "it asks for another in its place"
    assert len(held) == 7, "within the planned sessions"


def test_a_changed_answer_is_learned_as_it_is_now_and_without_answers_nothing_is(tmp_path):
    job = outside(ppo(replace(FEW, budget=14)))
    lockstep, _ = trained(tmp_path, job)
    answer(tmp_path, lockstep, ["first", "second"])
    lockstep, _ = trained(tmp_path, job)
    answer(tmp_path, lockstep, 14 * ["skip"])
    digest = exchange.read_queries(tmp_path, 0, 1).digest
    exchange.write_answers(tmp_path, 0, 1, digest, ["equal", "second"])
    lockstep, _ = trained(tmp_path, job)
    assert lockstep._preferences._labels[0].targets.tolist() == [[0.5, 0.5], [0.0, 1.0]]
    exchange.write_answers(tmp_path, 0, 1, digest, ["skip", "skip"])
    answer(tmp_path, lockstep, 14 * ["skip"])
    lockstep, _ = trained(tmp_path, job)
    preferences = lockstep._preferences
    assert not len(preferences._labels[0]) and preferences._learned == [False]
    assert preferences.sums == {0: (0.0, 0)}, "nobody is rewarded by a model that knows nothing"


def test_once_all_answers_are_taken_back_no_replayed_sample_is_worth_anything(tmp_path):
    job = outside(sac(replace(FEW, budget=14)))
    lockstep, _ = trained(tmp_path, job)
    answer(tmp_path, lockstep, ["first", "second"])
    lockstep, _ = trained(tmp_path, job)
    replay, column = lockstep.learner.replay, 2 * lockstep.learner.num_obs + lockstep.learner.num_actions
    before = replay.rows[0, : replay.size, column]
    assert before.abs().max() > 0
    digest = exchange.read_queries(tmp_path, 0, 1).digest
    exchange.write_answers(tmp_path, 0, 1, digest, ["skip", "skip"])
    answer(tmp_path, lockstep, 14 * ["skip"])
    lockstep, _ = trained(tmp_path, job)
    replay = lockstep.learner.replay
    assert replay.size > len(before) and not replay.rows[0, : replay.size, column].any()


def test_skipped_pairs_are_asked_again_but_not_after_the_end(tmp_path):
    job = outside(ppo(FEW))
    lockstep, result = trained(tmp_path, job)
    while result is None:
        answer(tmp_path, lockstep, 6 * ["skip"])
        lockstep, result = trained(tmp_path, job)
    held = sessions(tmp_path, 0)
    assert len(held) > 6 and {row["labels"] for row in held} == {"0"}
    assert int(held[-1]["samples"]) < 12 * SHORT["worlds"] * SHORT["horizon"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("method", ["prefppo", "pebble"])
def test_a_run_that_waits_and_is_killed_ends_as_an_unbroken_one(run, tmp_path, method):  # noqa: F811
    make, overrides = (ppo, SHORT) if method == "prefppo" else (sac, SAC_SHORT)
    job = outside(make(replace(FEW, budget=3), overrides=overrides | {"iterations": 60}))
    results = []
    for folder in (tmp_path / "whole", tmp_path / "broken"):
        while True:
            process = run(folder, job)
            if folder.name == "broken":
                checkpoint = shard_folder(folder, 0, 1) / "checkpoint.pt"
                wait_for(lambda: checkpoint.exists())  # noqa: B023
                os.kill(process.pid, signal.SIGKILL)
                wait_for(lambda: not shard_pids(folder))  # noqa: B023
                process = run(folder, job)
            if process.wait() != EXIT_WAITS:
                break
            assert read_progress(folder).phase == "waiting"
            session = len(list((folder / "answers").glob("*"))) + 1
            queries = exchange.read_queries(folder, 0, session)
            exchange.write_answers(folder, 0, session, queries.digest, ["first"] * len(queries.pairs))
        results.append(finished(process, folder))
        assert len(sessions(folder, 0)) == 3
    assert results[0].candidates == results[1].candidates


def test_lengths_in_seconds():
    info = catalog.get_task("Cartpole")
    assert count_segment_steps(2, info) == 120
    assert count_segment_steps(0, info) == 0


def test_a_job_of_earlier_versions_is_the_same_job(tmp_path):
    """A run that a teacher answers goes on from the checkpoint of a version that knew nobody else."""
    job, file = ppo(FEW), tmp_path / "job.json"
    write_json(file, job)
    saved = json.loads(file.read_text())
    del saved["preferences"][0]["outside"]
    file.write_text(json.dumps(saved))
    assert not holds_other_job(tmp_path, job)
    assert holds_other_job(tmp_path, outside(job))
