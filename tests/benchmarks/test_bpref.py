"""The comparison with B-Pref's own code: parts of a training, the table, and that its task says what it has."""

import importlib.util
import json
from pathlib import Path

import pytest

from benchmarks.peers.bpref import compare
from benchmarks.peers.bpref.compare import Run, average_parts, read_theirs, render
from trainer.records import CandidateResult, TrainResult, write_json

TASK = Path(__file__).parents[2] / "benchmarks/peers/bpref/half_cheetah"


def test_a_value_belongs_to_the_part_in_which_what_it_measures_ended():
    points = [(1000, 1.0), (2000, 3.0), (2001, 5.0), (4000, 7.0), (5000, 9.0), (8000, 11.0), (10_000, 13.0)]
    assert average_parts(points, 10_000) == [2.0, 6.0, 9.0, 11.0, 13.0]
    assert average_parts([(n * 1000, float(n)) for n in range(1, 8)], 5000) == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_a_run_of_theirs_is_read_to_its_last_evaluation(tmp_path):
    values = [0.0, 10.0, 11.0, 12.0, 13.0, 14.0]  # their first row comes before any episode has ended
    rows = "".join(f"{1000 * number},{value}\n" for number, value in enumerate(values, 1))
    (tmp_path / "train.csv").write_text("step,true_episode_reward\n" + rows)
    (tmp_path / "eval.csv").write_text("step,true_episode_reward\n2000,-4.0\n4000,12.5\n")
    (tmp_path / "cost.json").write_text(json.dumps({"steps": 5001, "processor_seconds": 50.0}))
    assert read_theirs(tmp_path, 1, None) == Run("their own code", 1, 10.0, 11.0, 12.0, 13.0, 14.0, 12.5, 50.0, 5001)
    first = read_theirs(tmp_path, 1, 5000)
    assert first.returns == [10.0, 11.0, 12.0, 13.0, 14.0] and first.final is None


def test_a_finished_training_is_read_whole_or_to_a_step(tmp_path, monkeypatch, capsys):
    """The command, on a folder with a training that is over: nothing is trained."""
    candidates = tuple(CandidateResult(index, True, evaluation={"score": 0.5}, samples=5000) for index in (0, 1))
    write_json(tmp_path / "result.json", TrainResult(candidates))
    (tmp_path / "cost.json").write_text(json.dumps({"steps": 5000, "processor_seconds": 40.0}))
    (tmp_path / "traces").mkdir()
    for index in (0, 1):
        rows = "".join(f"{1000 * number},{0.1 * number}\n" for number in range(1, 6))
        (tmp_path / f"traces/{index}.csv").write_text("samples,metric\n" + rows)
    for options, ended in ([], "| 500 | 4.00 |"), (["--until", "5000"], "|  | 4.00 |"):
        monkeypatch.setattr("sys.argv", ["compare", "--out", str(tmp_path), "--seeds", "1", "2", *options])
        compare.main()
        line = capsys.readouterr().out.splitlines()[-1]
        assert line == f"| Prefine, pebble | 2 | 100 | 200 | 300 | 400 | 500 {ended}"


def test_the_table_has_means_with_intervals_and_seconds_a_thousand_steps():
    runs = [Run("ours", value, *[float(value)] * 5, 10.0 * value, 20.0, 10_000) for value in (1, 2, 3)]
    lines = render(runs).splitlines()
    assert "| to 2k | to 4k | to 6k | to 8k | to 10k |" in lines[0]
    assert lines[2].startswith("| ours | 3 | 2 (-0 to 4) |")
    assert lines[2].endswith("| 20 (-5 to 45) | 2.00 |")  # 20 +- 4.303 * 10 / sqrt(3)


@pytest.mark.parametrize("name", ["Tensor (num_envs,)", "Tensor (num_envs, 6)"])
def test_the_task_describes_its_reward_inputs(name):
    spec = importlib.util.spec_from_file_location("half_cheetah_info", TASK / "info.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert name in module.INFO.inputs.values()
    assert module.INFO.episode_steps == 1000 and module.INFO.presets["quick-sac"].samples == 20_000
