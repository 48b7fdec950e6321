"""Rewards that do not end, that crash their process, or that slow the others down: dropped alone, with a reason."""

import contextlib
from pathlib import Path

import pytest

from tests.trainer import rewards
from tests.trainer.test_lockstep import shard, trained, unnumbered
from trainer import calls, process, run, training
from trainer.calls import CallMark, CallWatch, read_candidate, read_mark
from trainer.records import TrainJob, TrainResult, drop_candidate, shard_folder, write_json
from trainer.shard import Shard

SHORT = {"worlds": 16, "horizon": 16, "iterations": 8}
OTHERS = (rewards.UPRIGHT, rewards.STILL)


def test_the_mark_names_the_candidate_while_its_reward_is_called(tmp_path):
    mark = CallMark(tmp_path)
    assert read_candidate(read_mark(tmp_path)) is None
    with mark.mark_call(5):
        first = read_mark(tmp_path)
    with contextlib.suppress(ValueError), mark.mark_call(5):
        second = read_mark(tmp_path)
        raise ValueError
    assert (read_candidate(first), read_candidate(second)) == (5, 5) and first != second
    assert read_candidate(read_mark(tmp_path)) is None


def looks(monkeypatch: pytest.MonkeyPatch, *seen: tuple[float, float, int]) -> list[str]:
    """What a watch says at these (time, processor time, mark)."""
    watch, said = CallWatch(), []
    for now, used, mark in seen:
        monkeypatch.setattr(calls, "read_processor_seconds", lambda pid, used=used: used)
        said.append(watch.look(mark, 1, now))
    return said


def test_only_one_call_that_does_not_end_is_ended(monkeypatch):
    call, next_call = calls.CANDIDATES + 3, 2 * calls.CANDIDATES + 3
    assert looks(monkeypatch, (0, 100, call), (9, 109, call), (9.1, 109, next_call), (18, 118, next_call)) == [""] * 4
    said = looks(monkeypatch, (0, 100, call), (10.2, 110.2, call))[-1]
    assert said.startswith("one call took more than 10 s of processor time")
    assert looks(monkeypatch, (0, 100, 0), (500, 600, 0)) == ["", ""], "no call"


def test_a_call_that_waits_is_ended_by_the_clock_and_a_suspended_machine_does_not_count(monkeypatch):
    call = calls.CANDIDATES + 1
    assert looks(monkeypatch, (0, 0, call), (10_000, 0, call)) == ["", ""]
    waiting = looks(monkeypatch, *((0.5 * step, 0, call) for step in range(242)))
    assert waiting[-1].startswith("one call took more than 120 s") and set(waiting[:-1]) == {""}


def test_a_forged_mark_blames_nobody(tmp_path):
    shard = Shard(tmp_path, 2, 4, 1)
    assert [shard._find_candidate(calls.CANDIDATES + 1 + index) for index in (1, 2, 3, 4)] == [None, 2, 3, None]


def coordinated(folder: Path, job: TrainJob) -> TrainResult:
    folder.mkdir()
    write_json(folder / "job.json", job)
    with contextlib.ExitStack() as stack:
        return run.coordinate(folder, job, None, stack)


def job(*sources: str) -> TrainJob:
    return TrainJob("Cartpole", sources, overrides=SHORT, film_at=(), processes=1)


@pytest.mark.slow
def test_a_call_stuck_in_one_operation_ends_its_candidate_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(calls, "MOST_SECONDS", 0.5)
    first, stuck, last = coordinated(tmp_path / "with", job(OTHERS[0], rewards.STUCK, OTHERS[1])).candidates
    assert not stuck.ok
    reason = "limits: one call took more than 0.5 s of processor time and could not be interrupted (after "
    assert stuck.reason.startswith(reason)
    assert unnumbered((first, last)) == unnumbered(trained(tmp_path / "without", job(*OTHERS))[1].candidates)


@pytest.mark.slow
def test_a_candidate_dropped_after_a_checkpoint_leaves_the_others_as_they_were(tmp_path):
    three = job(OTHERS[0], rewards.FALLING, OTHERS[1])
    folder = tmp_path / "with"
    shard_folder(folder, 0, 3).mkdir(parents=True)
    begun = training.Lockstep(folder, three, 0, 3, threads=1)
    begun.prepare()
    for _ in range(3):
        begun._iterate()
    begun._save()
    drop_candidate(begun.folder, 1, "limits: too slow")
    first, dropped, last = trained(folder, three)[1].candidates
    assert dropped.reason == "limits: too slow (after 768 samples)"
    assert unnumbered((first, last)) == unnumbered(trained(tmp_path / "without", job(*OTHERS))[1].candidates)


@pytest.mark.slow
def test_a_reward_that_takes_longer_than_the_rest_of_its_training_is_dropped(tmp_path):
    begun = shard(tmp_path / "with", job(OTHERS[0], rewards.FALLING, OTHERS[1]))
    begun.collector.scorers[1].seconds = 1e6
    first, slow, last = begun.train().candidates
    assert slow.reason.startswith("limits: its calls took 1000000 s of processor time, the rest of its training ")
    assert unnumbered((first, last)) == unnumbered(trained(tmp_path / "without", job(*OTHERS))[1].candidates)
    assert begun._explain_slowness(training.REWARD_SECONDS) == "", "so much it may take in any case"


def test_the_memory_of_the_machine_is_divided_among_its_processes(monkeypatch, tmp_path):
    monkeypatch.setattr(process, "read_memory_size", lambda: 32 << 30)
    assert [process.compute_memory_share(count) >> 30 for count in (1, 2, 4, 8, 64)] == [16, 12, 6, 3, 1]
    monkeypatch.undo()
    monkeypatch.setattr(process, "CONTROL_GROUP", tmp_path / "memory.max")
    process.CONTROL_GROUP.write_text("max\n")
    assert process.read_memory_size() > 1 << 30
    process.CONTROL_GROUP.write_text(f"{2 << 30}\n")
    assert process.read_memory_size() == 2 << 30
