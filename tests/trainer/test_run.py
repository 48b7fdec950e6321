"""Whole runs in their real processes: learning, kill -9, cancellation, crashes, a full disk."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from simulation import catalog
from tests.trainer import rewards
from tests.trainer.test_lockstep import trained
from trainer import launch
from trainer.process import EXIT_DISK_FULL, ROOT, clean_environment
from trainer.records import TrainJob, TrainResult, read_progress, read_result, shard_folder, write_json
from trainer.run import split
from trainer.shard import CRASHES

pytestmark = pytest.mark.slow

LONG = {"worlds": 32, "horizon": 16, "iterations": 100_000}
SOURCES = (rewards.UPRIGHT, rewards.STILL)


def wait_for(condition: Callable[[], object], seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def shard_pids(folder: Path) -> list[int]:
    """The running children of this folder's run, by shard."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            command = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"trainer.lockstep" in command and str(folder).encode() in command:
            found.append((command, int(process.name)))
    return [pid for _, pid in sorted(found)]


@pytest.fixture
def run() -> Iterator[Callable[..., subprocess.Popen]]:
    """Start runs that do not outlive the test."""
    started: list[subprocess.Popen] = []

    def start(folder: Path, job: TrainJob, **options: bool) -> subprocess.Popen:
        started.append(launch.train(folder, job, **options))
        return started[-1]

    yield start
    for process in started:
        launch.stop(process)


def finished(process: subprocess.Popen, folder: Path) -> TrainResult:
    process.wait(800)
    result = read_result(folder)
    assert result is not None, (folder / "log.txt").read_text()
    return result


def test_cartpole_learns_to_balance(run, tmp_path):
    (tmp_path / "cancel").touch()  # meant for an earlier attempt: it cancels nothing
    result = finished(run(tmp_path, TrainJob("Cartpole", (catalog.read_reference_reward("Cartpole"),))), tmp_path)
    (learned,) = result.candidates
    assert result.error == "" and not result.cancelled and learned.ok and learned.final_score > 450
    assert result.samples == learned.samples
    progress = read_progress(tmp_path)
    assert (progress.phase, progress.fraction, progress.seconds_left) == ("done", 1.0, 0.0)
    assert [c.rollouts for c in progress.candidates] == [(10, 30, 100)]
    names = sorted(p.name for p in (tmp_path / "rollouts").iterdir())
    assert names == ["0-010.npz", "0-030.npz", "0-100.npz"]


def test_a_run_killed_again_and_again_ends_as_an_unbroken_one(run, tmp_path):
    """Both candidates in one process, the unbroken run in this one: a start costs more than all the rest."""
    overrides = {"worlds": 16, "horizon": 16, "iterations": 100, "epochs": 2}
    job = TrainJob("Cartpole", SOURCES, overrides=overrides, film_at=(10, 40, 70), processes=1)  # saves at each
    _, whole = trained(tmp_path / "whole", job)
    folder = tmp_path / "broken"
    process = run(folder, job)
    checkpoint = shard_folder(folder, 0, 2) / "checkpoint.pt"
    wait_for(checkpoint.exists)
    os.kill(process.pid, signal.SIGKILL)  # the coordinator: its children must go with it
    wait_for(lambda: not shard_pids(folder))
    process = run(folder, job)
    written = checkpoint.stat().st_mtime_ns
    wait_for(lambda: checkpoint.stat().st_mtime_ns > written)
    os.kill(shard_pids(folder)[0], signal.SIGKILL)  # one child: it is started again
    result = finished(process, folder)
    assert "continuing from its checkpoint" in (folder / "log.txt").read_text()
    assert all(c.ok for c in result.candidates)
    assert result.candidates == whole.candidates
    assert (result.samples, result.error) == (whole.samples, "")


def test_a_shard_that_keeps_crashing_fails_only_its_candidates_and_cancelling_ends_the_others(run, tmp_path):
    process = run(tmp_path, TrainJob("Cartpole", SOURCES, overrides=LONG, film_at=(), processes=2))
    pids, killed = [0, 0], 0

    def both_run() -> bool:
        pids[:] = shard_pids(tmp_path)
        return len(pids) == 2 and pids[1] != killed

    for _ in range(CRASHES):
        wait_for(both_run)
        killed = pids[1]
        os.kill(killed, signal.SIGKILL)
    wait_for(lambda: [c.status for c in read_progress(tmp_path).candidates] == ["training", "failed"])
    trained = read_progress(tmp_path).candidates[0].fraction
    wait_for(lambda: read_progress(tmp_path).candidates[0].fraction > trained)
    (tmp_path / "cancel").touch()
    result = finished(process, tmp_path)
    first, second = result.candidates
    assert (result.cancelled, first.ok, first.reason) == (True, False, "cancelled")
    assert not shard_pids(tmp_path)
    assert second.reason.startswith(f"the training process crashed {CRASHES} times in a row (SIGKILL)")


def test_stop_ends_the_whole_group(run, tmp_path):
    process = run(tmp_path, TrainJob("Cartpole", SOURCES, overrides=LONG, processes=2))
    wait_for(lambda: len(shard_pids(tmp_path)) == 2)
    launch.stop(process)
    wait_for(lambda: not shard_pids(tmp_path))
    assert read_result(tmp_path) is None


def test_the_run_dies_with_its_parent(tmp_path):
    write_json(tmp_path / "job.json", TrainJob("Cartpole", SOURCES[:1], overrides=LONG))
    program = (
        "import sys, time; from pathlib import Path; from trainer import launch; from trainer.records import read_job;"
        "folder = Path(sys.argv[1]); launch.train(folder, read_job(folder), die_with_parent=True); time.sleep(600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, env=clean_environment())
    try:
        wait_for(lambda: shard_pids(tmp_path))
    finally:
        parent.kill()
        parent.wait()
    wait_for(lambda: not shard_pids(tmp_path))
    assert read_result(tmp_path) is None


def test_an_impossible_job_ends_with_an_error_and_can_be_tried_again(run, tmp_path):
    job = TrainJob("Cartpole", SOURCES, preset="fast")
    result = finished(run(tmp_path, job), tmp_path)
    assert result.error.startswith("unknown preset 'fast' of Cartpole; known: quick")
    assert finished(run(tmp_path, job), tmp_path).error == result.error
    with pytest.raises(ValueError, match="holds another job"):
        launch.train(tmp_path, replace(job, preset="quick"))


@pytest.mark.parametrize(
    ("change", "other"),
    [
        (lambda text: text, False),
        (lambda text: text.replace('"seed": 0', '"seed": 1'), True),
        (lambda text: text.replace('"seed": 0', '"seed": 0, "of a newer version": 1'), True),
        (lambda text: text.replace('"revision": 1', '"revision": 2'), True),
        (lambda text: json.dumps({k: v for k, v in json.loads(text).items() if k != "revision"}), False),
        (lambda text: text[:-9], True),
        (lambda text: "[]", True),
    ],
)
def test_what_this_version_cannot_read_is_another_job(tmp_path, change, other):
    job = TrainJob("Cartpole", SOURCES)
    assert not launch.holds_other_job(tmp_path, job)
    write_json(tmp_path / "job.json", job)
    text = (tmp_path / "job.json").read_text()
    (tmp_path / "job.json").write_text(change(text))
    assert launch.holds_other_job(tmp_path, job) == other


def test_a_run_without_the_policy_that_it_starts_from_says_so_at_once(run, tmp_path):
    result = finished(run(tmp_path, TrainJob("Cartpole", SOURCES, warm=True)), tmp_path)
    assert "there is no warm.pt in" in result.error
    assert "crashed" not in (tmp_path / "log.txt").read_text()


@pytest.mark.parametrize(
    "damage",
    [
        "{",
        "[]",
        '{"bounds": []}',
        '{"bounds": [0, 1]}',
        '{"bounds": [0, 1.5, 2]}',
        '{"bounds": [0, 2], "device": "cuda:0; rm"}',
        '{"bounds": [0, 2], "device": 7}',
        '{"bounds": [0, 2], "more": 1}',
        '{"bounds": [0, 2], "gpu": 7}',
        '{"bounds": [0, 2], "device": "cuda:0", "gpu": "<b>"}',
    ],
)
def test_a_damaged_split_is_refused(tmp_path, damage):
    job = TrainJob("Cartpole", SOURCES, processes=2)
    assert len(split(tmp_path, job)) == 2
    (tmp_path / "checkpoints" / "split.json").write_text(damage)
    with pytest.raises(ValueError, match="split.json is damaged: remove the folder"):
        split(tmp_path, job)


def test_a_full_disk_is_reported_and_nothing_is_left_running(tmp_path):
    """In a mount namespace of its own, with a disk of 64 kB: too small for a rollout and a checkpoint."""
    script = (
        f'mount -t tmpfs -o size=64k none "$1" && cp "$2" "$1/job.json" && {sys.executable} -m trainer.run "$1";'
        ' echo "status $?"; ls "$1"'
    )
    write_json(tmp_path / "job.json", TrainJob("Cartpole", SOURCES[:1], overrides=LONG))
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
    done = subprocess.run(
        [*command, str(disk), str(tmp_path / "job.json")],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        text=True,
    )
    if "unshare failed" in done.stderr or "Operation not permitted" in done.stderr:
        pytest.skip("this system lets no unprivileged process mount a small disk")
    assert f"status {EXIT_DISK_FULL}" in done.stdout
    assert "no space left on the disk" in done.stdout
    assert "result.json" not in done.stdout and ".tmp" not in done.stdout  # a later start goes on
    assert not shard_pids(disk)


@pytest.mark.parametrize(
    ("count", "processes", "sizes"), [(6, 2, [3, 3]), (5, 2, [2, 3]), (1, 4, [1]), (6, 4, [2, 1, 1, 2])]
)
def test_candidates_are_split_evenly_in_order(tmp_path, count, processes, sizes):
    shards = split(tmp_path, TrainJob("Cartpole", ("",) * count, processes=processes))
    assert [s.last - s.first for s in shards] == sizes
    assert [s.first for s in shards] == [sum(sizes[:i]) for i in range(len(sizes))]


@pytest.mark.parametrize("later", [1, 2, 16])
def test_a_run_that_goes_on_keeps_its_split_on_any_machine(tmp_path, monkeypatch, later):
    job = TrainJob("Cartpole", ("",) * 6)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)))
    begun = split(tmp_path, job)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(later)))
    assert [(s.first, s.last) for s in split(tmp_path, job)] == [(s.first, s.last) for s in begun]
    assert {s.threads for s in split(tmp_path, job)} == {max(1, later // 4)}
