"""`./prefine train`, as a person runs it: in a process of its own."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import short_training
from tests.trainer import rewards
from tests.trainer.test_run import shard_pids, wait_for
from trainer.commands.train import (
    _make_job,
    _parse_options,
    format_duration,
    format_table,
    format_training,
    name_candidates,
)
from trainer.process import ROOT, clean_environment
from trainer.records import CandidateProgress, CandidateResult, Progress, TrainResult, read_progress, read_result

pytestmark = pytest.mark.slow

SHORT = ["--override", "worlds=16", "--override", "horizon=16"]


def command(*arguments: str | Path, python: str = sys.executable) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [python, "-m", "trainer.commands.train", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=clean_environment(),
    )


def reward_file(folder: Path, name: str, source: str) -> Path:
    path = folder / name
    path.write_text(source)
    return path


def test_it_trains_films_and_prints_a_table(tmp_path):
    out = tmp_path / "out"
    options = ["--task", "Cartpole", "--reward", reward_file(tmp_path, "still.py", rewards.STILL), "--out", out]
    process = command(
        *options, "--seed", "3", *SHORT, "--iterations", "10", python=short_training.python(tmp_path / "python")
    )
    output, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    result = read_result(out)
    assert result is not None and all(c.ok for c in result.candidates)
    assert "Training: done, 2,560 samples" in output
    row = next(line for line in output.splitlines() if line.startswith("still.py"))
    assert f"{result.candidates[0].rts:.3f}" in row and "centred" in row
    assert len(list((out / "clips").glob("*.mp4"))) == 3
    assert f"{out}/clips" in output and f"{out}/checkpoints/policies" in output and f"{out}/result.json" in output


def test_every_reward_is_trained_with_each_seed_by_the_chosen_algorithm(tmp_path):
    files = [reward_file(tmp_path, name, source) for name, source in (("a.py", "one"), ("b.py", "two"))]
    given = ["--task", "Cartpole", "--reward", *map(str, files)]
    job = _make_job(_parse_options([*given, "--seeds", "3", "8", "--algorithm", "sac", "--iterations", "9"]))
    assert (job.preset, job.overrides) == ("quick-sac", {"iterations": 9})
    assert (job.sources, job.seeds) == (("one", "two", "one", "two"), (3, 3, 8, 8))
    assert name_candidates(job, files) == ["a.py, seed 3", "b.py, seed 3", "a.py, seed 8", "b.py, seed 8"]
    plain = _make_job(_parse_options([*given, "--seed", "5", "--preset", "paper"]))
    assert (plain.preset, plain.seed, plain.seeds, name_candidates(plain, files)) == ("paper", 5, (), ["a.py", "b.py"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--task", "Cartpol"], "unknown task 'Cartpol'. Did you mean Cartpole?"),
        (["--task", "Cartpole", "--override", "iterations"], "--override iterations: give a name and a number"),
    ],
)
def test_wrong_options_are_named(tmp_path, options, message):
    process = command(
        *options, "--reward", reward_file(tmp_path, "upright.py", rewards.UPRIGHT), "--out", tmp_path / "out"
    )
    output, errors = process.communicate()
    assert process.returncode == 1
    assert message in errors and errors.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\x00\x80")
    for name, message in (
        ("missing.py", "cannot be read: No such file or directory"),
        ("binary.py", "is not a text file"),
    ):
        process = command("--task", "Cartpole", "--reward", tmp_path / name)
        assert f"{tmp_path / name} {message}" in process.communicate()[1]
        assert process.returncode == 1


def test_a_reward_that_is_not_executable_gets_its_verdict(tmp_path):
    bad = reward_file(tmp_path, "bad.py", "import os\ndef compute_reward(dof_pos):\n    return os.getpid(), {}\n")
    process = command("--task", "Cartpole", "--reward", bad, "--out", tmp_path / "out")
    errors = process.communicate()[1]
    assert process.returncode == 1
    assert f"{bad} is no executable reward function" in errors
    assert not (tmp_path / "out").exists()


def test_control_c_cancels_and_leaves_nothing_running(tmp_path):
    upright, out = reward_file(tmp_path, "upright.py", rewards.UPRIGHT), tmp_path / "out"
    process = command(
        "--task", "Cartpole", "--reward", upright, "--out", out, *SHORT, "--override", "iterations=1000000"
    )
    wait_for(lambda: read_progress(out).samples > 0)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate()
    assert (process.returncode, errors) == (130, "")
    assert f"What was trained so far is in {out}" in output
    result = read_result(out)
    assert result is not None and result.cancelled
    assert not shard_pids(out)


def test_progress_reads_as_a_sentence():
    candidates = (CandidateProgress(0), CandidateProgress(1, status="failed", reason="x"))
    progress = Progress("training", 0.25, 75.2, 12000, 3456.7, candidates)
    assert (
        format_training(progress) == "Training:  25%, 1 min 15 s left, 12,000 samples at 3,457 samples/s, 1 of 2 failed"
    )
    assert format_training(Progress()) == "Training: starting"
    assert [format_duration(s) for s in (9.6, 60, 7500)] == ["10 s", "1 min 0 s", "2 h 5 min"]


def test_the_table_says_why_a_candidate_failed_and_that_a_task_has_no_metric():
    trace = {"total": {"samples": [1.0, 2.5], "max": 2.5, "mean": 1.7, "min": 1.0}}
    result = TrainResult((CandidateResult(0, True, trace=trace), CandidateResult(1, False, reason="NaN in line 3")))
    lines = format_table(["a.py", "b.py"], result).splitlines()
    assert lines[1].split() == ["a.py", "none", "none", "total", "2.5"]
    assert lines[2].endswith("failed: NaN in line 3")
