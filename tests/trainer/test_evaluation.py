"""Evaluation of a policy that was really trained, a little, on Cartpole; and what is said of unusable ones."""

import csv
import json
import shutil
import statistics
import sys
from dataclasses import replace

import pytest
import torch

from simulation import catalog
from simulation.rollout import read_rollout
from tests import short_training
from tests.trainer import rewards
from tests.trainer.test_lockstep import trained
from trainer import evaluation
from trainer.checkpoint import load_policy
from trainer.commands.evaluate import format_report, list_policies, main
from trainer.estimates import Estimate, estimate_mean, estimate_ratio, estimate_share
from trainer.evaluation import Episode, choose_episode, estimate_over_seeds, evaluate, record_episode
from trainer.records import TrainJob, write_json

pytestmark = pytest.mark.slow

SIZE = {"worlds": 16, "horizon": 16, "iterations": 12}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run with two policies, and its result."""
    folder = tmp_path_factory.mktemp("run")
    job = TrainJob("Cartpole", (rewards.UPRIGHT, rewards.STILL), overrides=SIZE, film_at=())
    write_json(folder / "job.json", job)
    _, result = trained(folder, job)
    write_json(folder / "result.json", result)
    return folder, result


@pytest.fixture(scope="module")
def policy_file(run):
    return run[0] / "checkpoints" / "policies" / "0.pt"


@pytest.fixture(scope="module")
def evaluated(policy_file):
    return evaluate(policy_file, seeds=(0, 1, 2), episodes=4)


def test_a_score_is_the_mean_duration_of_whole_episodes(evaluated):
    found, episodes = evaluated
    assert [(e.seed, e.number) for e in episodes] == [(seed, number) for seed in (0, 1, 2) for number in range(4)]
    # the metric of Cartpole is the duration, counted once an episode
    assert all(e.score == e.steps and e.metric_count == 1 for e in episodes)
    steps = [e.steps for e in episodes]
    assert found.score.mean == pytest.approx(statistics.mean(steps))
    assert found.score.std == pytest.approx(statistics.stdev(steps))
    assert found.score.error == pytest.approx(statistics.stdev(steps) / 12**0.5)
    assert found.score_over_seeds == estimate_mean([statistics.mean(steps[i : i + 4]) for i in (0, 4, 8)])
    assert found.episode_length == estimate_mean(steps)
    assert found.terminated == sum(e.terminated for e in episodes) / 12
    assert all(e.terminated == (e.steps < 499) for e in episodes)
    assert len(set(steps)) > 1


def test_the_same_seeds_give_the_same_episodes_and_others_others(policy_file, evaluated):
    again, each = evaluate(policy_file, seeds=(2,), episodes=4)
    assert each == [e for e in evaluated[1] if e.seed == 2]
    assert [e.steps for e in each] != [e.steps for e in evaluated[1] if e.seed == 0]


def test_a_film_shows_the_chosen_episode_from_its_start(policy_file, evaluated, tmp_path):
    episodes = evaluated[1]
    assert choose_episode(episodes, "best").steps == max(e.steps for e in episodes)
    assert choose_episode(episodes, "worst").steps == min(e.steps for e in episodes)
    worst = choose_episode(episodes, "worst")
    record_episode(load_policy(policy_file), worst, 4, tmp_path / "worst.npz")
    rollout = read_rollout(tmp_path / "worst.npz")
    assert len(rollout.qpos) == 600
    start = evaluation.make_episode_worlds(load_policy(policy_file), 4, worst.seed).qpos(worst.number)
    assert (rollout.qpos[0] == start).all()
    if worst.steps < 499:
        assert rollout.restart.nonzero()[0][:2].tolist() == [0, worst.steps]


def test_the_interval_of_a_share_over_seeds_stays_a_share():
    """8 of 9 episodes: by Student's t alone it would reach 1.37."""
    episodes = [Episode(seed, n, 10, True, False, float((seed, n) != (0, 0)), 1) for seed in range(3) for n in range(3)]
    found = estimate_over_seeds(episodes, (0, 1, 2), shares=True)
    assert (found.mean, found.low, found.high) == (pytest.approx(8 / 9), pytest.approx(0.41078, abs=1e-4), 1.0)
    assert estimate_over_seeds(episodes, (0, 1, 2), shares=False).high == pytest.approx(1.367, abs=1e-4)


def test_without_a_metric_episodes_are_ranked_by_length():
    episodes = [Episode(0, number, steps, False, False, 0.0, 0) for number, steps in enumerate((30, 10, 20))]
    assert [choose_episode(episodes, which).steps for which in ("worst", "median", "best")] == [10, 20, 30]


def test_a_task_without_a_metric_says_so(policy_file, tmp_path, capsys):
    """HumanoidJump with random parameters: it falls, which is all that can be said."""
    shape = {"num_obs": 108, "num_actions": 21, "hidden": [4], "activation": "elu"}
    count = 21 + (108 + 1) * 4 * 2 + 5 * 21 + 5
    saved = torch.load(policy_file, weights_only=True)
    generator = torch.Generator().manual_seed(0)
    other = {
        "task": "HumanoidJump",
        "shape": shape,
        "parameters": torch.randn(count, generator=generator),
        "observation_mean": torch.zeros(108),
        "observation_variance": torch.ones(108),
    }
    torch.save(saved | other, tmp_path / "jump.pt")
    found, each = evaluate(tmp_path / "jump.pt", seeds=(0,), episodes=2)
    assert found.metric is None and found.score is None and found.score_over_seeds is None
    assert "HumanoidJump has no metric" in format_report(found) and "episode length" in format_report(found)
    assert [e.score for e in each] == [None, None]


def test_the_command_reports_every_policy_and_films(run, tmp_path, capsys, monkeypatch):
    """A film of its first second and a half."""
    brief = replace(catalog.get_task("Cartpole"), clip_seconds=short_training.SECONDS)
    monkeypatch.setitem(catalog.list_tasks(), "Cartpole", brief)
    monkeypatch.setattr(sys, "executable", short_training.python(tmp_path / "python"))
    arguments = [str(run[0]), "--seeds", "0", "1", "--episodes", "2"]
    assert main([*arguments, "--candidate", "1", "--film", "BEST", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "4 episodes of 2 seeds" in said and "over the seeds" in said and "terminated" in said
    assert (tmp_path / "1-best.mp4").stat().st_size > 1000 and (tmp_path / "1-best.jpg").exists()
    assert str(tmp_path / "1-best.mp4") in said
    assert main([*arguments, "--json"]) == 0
    both = json.loads(capsys.readouterr().out)
    assert [e["checkpoint"].rpartition("/")[2] for e in both] == ["0.pt", "1.pt"]
    assert both[0]["episodes"] == 4 and both[0]["score"]["count"] == 4


def changed(policy_file, path, **fields):
    torch.save(torch.load(policy_file, weights_only=True) | fields, path)
    return path


def test_unusable_files_are_refused_with_what_is_wrong(policy_file, tmp_path, capsys):
    saved = torch.load(policy_file, weights_only=True)
    (tmp_path / "notes.txt").write_text("not a policy")
    (tmp_path / "cut.pt").write_bytes(policy_file.read_bytes()[:900])
    (tmp_path / "empty.pt").write_bytes(b"")
    torch.save({"something": 1}, tmp_path / "else.pt")
    torch.save([1, 2], tmp_path / "list.pt")
    old = saved["shape"] | {"num_obs": 6}
    cases = {
        tmp_path / "none.pt": "there is no",
        tmp_path / "notes.txt": "damaged",
        tmp_path / "cut.pt": "damaged",
        tmp_path / "empty.pt": "damaged",
        tmp_path / "list.pt": "no checkpoint",
        tmp_path / "else.pt": "is not a policy",
        changed(policy_file, tmp_path / "future.pt", version=99): "version 99",
        changed(policy_file, tmp_path / "unknown.pt", task="Walker"): "trained on Walker, a task that this version",
        changed(policy_file, tmp_path / "ant.pt", task="Ant"): "another version of Ant, with 4 observations",
        changed(policy_file, tmp_path / "old.pt", shape=old): "another version of Cartpole, with 6 observations",
        changed(policy_file, tmp_path / "short.pt", parameters=saved["parameters"][:-1]): "damaged",
        changed(policy_file, tmp_path / "nan.pt", parameters=saved["parameters"] * float("nan")): "not finite",
    }
    for path, message in cases.items():
        assert main([str(path)]) == 1, path
        errors = capsys.readouterr().err
        assert message in errors and str(path) in errors and errors.count("\n") == 1, errors


class OpensAFile:
    """What a hostile file holds: code that runs when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_code_in_a_file_is_not_run(policy_file, tmp_path, capsys):
    changed(policy_file, tmp_path / "hostile.pt", task=OpensAFile(tmp_path / "opened"))
    assert main([str(tmp_path / "hostile.pt")]) == 1
    assert "damaged" in capsys.readouterr().err
    assert not (tmp_path / "opened").exists()


def test_folders_without_the_policy_are_refused_with_what_to_give(run, policy_file, tmp_path):
    with pytest.raises(ValueError, match="holds no trained policy: give a folder"):
        list_policies(tmp_path, None)
    with pytest.raises(ValueError, match="has no policy of candidate 7; it has those of: 0, 1"):
        list_policies(run[0], 7)
    with pytest.raises(ValueError, match="is one file"):
        list_policies(policy_file, 0)
    assert list_policies(policy_file.parent, 1) == [policy_file.with_name("1.pt")]
    unfinished = tmp_path / "unfinished"
    unfinished.mkdir()
    shutil.copy(run[0] / "job.json", unfinished)
    with pytest.raises(ValueError, match="has not ended"):
        list_policies(unfinished, None)
    with pytest.raises(ValueError, match=r"holds several runs; give one of them: .*unfinished"):
        list_policies(tmp_path, None)
    (unfinished / "result.json").write_text('{"candidates": [], "error": "no space left"}')
    with pytest.raises(ValueError, match="left no policy .no space left"):
        list_policies(unfinished, None)
    (unfinished / "result.json").write_text("{")
    with pytest.raises(ValueError, match="damaged"):
        list_policies(unfinished, None)


def test_a_policy_of_another_task_than_its_run_is_refused(run, tmp_path, capsys):
    mixed = tmp_path / "mixed"
    shutil.copytree(run[0], mixed)
    job = json.loads((mixed / "job.json").read_text())
    (mixed / "job.json").write_text(json.dumps(job | {"task": "Ant"}))
    assert main([str(mixed)]) == 1
    assert "is a policy for Cartpole, not for Ant" in capsys.readouterr().err
    (mixed / "job.json").write_text("nothing")
    assert main([str(mixed)]) == 1
    assert "job.json is damaged" in capsys.readouterr().err


def test_a_ratio_weighs_episodes_by_what_was_counted():
    # by hand: mean 10/4 = 2.5; residuals (1 - 2.5, 9 - 7.5) / 2 = -0.75, 0.75; error sqrt(1.125 / 2) = 0.75
    found = estimate_ratio([1.0, 9.0], [1, 3])
    assert (found.mean, found.error) == (2.5, pytest.approx(0.75))
    assert found.low == pytest.approx(2.5 - 12.7062 * 0.75, abs=1e-4)
    assert found.std == pytest.approx(statistics.stdev([1.0, 3.0]))
    assert estimate_mean([3.0]) == Estimate(3.0, 0.0, 1)
    assert estimate_mean([3.0, 3.0]) == Estimate(3.0, 0.0, 2)


@pytest.mark.parametrize(
    ("successes", "of", "low", "high"), [(8, 8, 0.6306, 1.0), (0, 20, 0.0, 0.1684), (17, 20, 0.6211, 0.9679)]
)
def test_a_share_has_clopper_and_pearsons_interval(successes, of, low, high):
    found = estimate_share([1.0] * successes + [0.0] * (of - successes))
    assert (found.mean, found.count) == (successes / of, of)
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_episodes_that_succeed_or_fail_are_a_share():
    episodes = [Episode(0, number, 300, False, False, 1.0, 1) for number in range(8)]
    assert evaluation._estimate_score(episodes, shares=True) == estimate_share([1.0] * 8)
    named = {name for name, info in catalog.list_tasks().items() if (info.metric or "").startswith(evaluation.SHARE)}
    shared = {
        name
        for name, info in catalog.list_tasks().items()
        if {"tcp_pose", "fingertip_another_pos", "torso_upright"} & {*info.inputs}
    }
    assert named == {"AntLieDown", "AntPatrolAndReturn", "FrankaCabinet"} | shared


def test_training_leaves_a_row_for_each_interval_that_rts_is_computed_from(run):
    folder, result = run
    for candidate in result.candidates:
        with (folder / "traces" / f"{candidate.index}.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        metric = [float(row["metric"]) for row in rows]
        assert metric == candidate.metric_trace["all"]
        assert max(metric) == candidate.rts
        assert [int(row["samples"]) for row in rows] == [256 * (i + 1) for i in range(12)]
        assert float(rows[-1]["reward"]) == candidate.trace["total"]["samples"][-1]
        assert {f"reward/{name}" for name in candidate.trace} - set(rows[0]) == {
            "reward/total",
            "reward/episode_length",
        }


def test_a_training_evaluates_its_final_policies_and_the_metric_can_be_the_reward(tmp_path):
    """What it reports is what ./prefine evaluate finds; under the metric two different programs learn the same."""
    job = TrainJob("Cartpole", (rewards.UPRIGHT, rewards.STILL), overrides=SIZE | {"iterations": 3}, film_at=())
    _, plain = trained(tmp_path / "plain", job)
    assert [result.evaluation for result in plain.candidates] == [{}, {}]
    _, scored = trained(tmp_path / "scored", replace(job, by_metric=True, episodes=8))
    first, second = scored.candidates
    assert first.rts == second.rts and first.evaluation == second.evaluation
    assert [one.rts for one in plain.candidates] != [first.rts, second.rts]
    policy = tmp_path / "scored" / "checkpoints" / "policies" / "0.pt"
    found, _ = evaluate(policy, seeds=(0, 1, 2, 3, 4), episodes=2)
    assert first.evaluation == {
        "episodes": 10,
        "score": found.score.mean,
        "error": found.score.error,
        "steps": found.episode_length.mean,
        "terminated": found.terminated,
    }
