"""Training with other engines than MuJoCo beside us: MuJoCo Warp on its CPU device, MuJoCo behind the bridge."""

import os
import signal
import time
from pathlib import Path

import pytest

from simulation.backends import choice
from tests.simulation.warp import WARP
from tests.trainer import rewards
from tests.trainer.test_lockstep import SHORT, trained
from tests.trainer.test_run import LONG, finished, run, wait_for  # noqa: F401  (a fixture)
from trainer.process import clean_environment
from trainer.records import TrainJob, read_progress, read_result

pytestmark = pytest.mark.slow

SOURCES = (rewards.UPRIGHT, rewards.STILL)
BRIEF = {"worlds": 4, "horizon": 8, "iterations": 3}


def test_candidates_train_on_warp_and_go_on_from_a_checkpoint(monkeypatch, tmp_path):
    monkeypatch.setattr(choice, "find_engine", lambda on, folder="": WARP)
    job = TrainJob("Cartpole", (*SOURCES, "def broken("), overrides=BRIEF, film_at=(100,))
    lockstep, result = trained(tmp_path / "whole", job)
    assert [c.ok for c in result.candidates] == [True, True, False]
    assert result.candidates[0].rts > 0
    assert (tmp_path / "whole" / "rollouts" / "1-100.npz").exists()
    lockstep._save()
    again, _ = trained(tmp_path / "whole", job)
    assert again.iteration == BRIEF["iterations"], "from the checkpoint, not from scratch"
    assert again.collector.env.state_dict()["engine"] == "mujoco_warp"


def test_a_device_that_is_not_here_fails_the_run_with_its_reason(monkeypatch, run, tmp_path):  # noqa: F811
    monkeypatch.setenv("PREFINE_DEVICE", "cuda:7")
    result = finished(run(tmp_path, TrainJob("Cartpole", SOURCES, overrides=SHORT)), tmp_path)
    assert result.error.startswith("PREFINE_DEVICE: ") and "cuda:7" in result.error


def test_the_device_reaches_the_training_and_no_other_setting_does(monkeypatch):
    monkeypatch.setenv("PREFINE_DEVICE", "cpu")
    monkeypatch.setenv("PREFINE_SECRET_KEY", "hush")
    environment = clean_environment()
    assert environment["PREFINE_DEVICE"] == "cpu" and "PREFINE_SECRET_KEY" not in environment


def workers(folder: Path) -> list[int]:
    """Bridge workers that this run's shards started."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            parent = next(line for line in (process / "status").read_text().splitlines() if line.startswith("PPid"))
            starter = Path("/proc", parent.split()[1], "cmdline").read_bytes()
        except (OSError, StopIteration):
            continue
        if b"simulation.bridge.engine_host" in command and str(folder).encode() in starter:
            found.append(int(process.name))
    return found


@pytest.fixture
def bridge_device(monkeypatch):
    monkeypatch.setenv("PREFINE_DEVICE", "bridge:mujoco")


@pytest.mark.exhaustive
def test_a_locked_training_through_the_bridge_equals_one_without(bridge_device, run, tmp_path, monkeypatch):  # noqa: F811
    job = TrainJob("Cartpole", (*SOURCES, "def broken("), overrides=SHORT, film_at=())
    bridged = finished(run(tmp_path / "bridge", job), tmp_path / "bridge")
    monkeypatch.setenv("PREFINE_DEVICE", "cpu")
    beside = finished(run(tmp_path / "beside", job), tmp_path / "beside")
    assert bridged.candidates == beside.candidates
    assert [c.ok for c in bridged.candidates] == [True, True, False]


@pytest.mark.exhaustive
def test_a_lost_bridge_fails_its_run_alone(bridge_device, run, tmp_path):  # noqa: F811
    job = TrainJob("Cartpole", SOURCES, overrides=LONG, film_at=())
    folders = [tmp_path / "lost", tmp_path / "unharmed"]
    processes = [run(folder, job) for folder in folders]
    for folder in folders:
        wait_for(lambda folder=folder: read_progress(folder).samples > 0)
    (worker,) = workers(folders[0])
    os.kill(worker, signal.SIGKILL)
    lost = finished(processes[0], folders[0])
    for candidate in lost.candidates:
        assert not candidate.ok and candidate.reason.startswith("the bridge to mujoco is lost")
    before = read_progress(folders[1]).samples
    wait_for(lambda: read_progress(folders[1]).samples > before)
    assert read_result(folders[1]) is None
    (folders[1] / "cancel").touch()
    assert finished(processes[1], folders[1]).cancelled
    deadline = time.monotonic() + 60
    while workers(folders[1]):
        assert time.monotonic() < deadline, "its worker outlives it"
        time.sleep(0.05)
