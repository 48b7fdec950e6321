"""One child of a run: how often it may crash, and how its time left is estimated."""

import subprocess
import sys
from pathlib import Path

import pytest

from trainer.calls import CANDIDATES, FILE, CallMark
from trainer.records import Progress, read_dropped, write_json
from trainer.shard import CRASHES, CRASHES_IN_ONE_CALL, Shard

pytestmark = pytest.mark.slow


class Crashing(Shard):
    """A child that gets to these fractions of the training, one after another, and crashes."""

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(self.folder / "progress.json", Progress("training", fraction=self.fractions.pop(0)))
        self.process = subprocess.Popen(["false"])
        self.process.wait()


def crashes(folder: Path, fractions: list[float]) -> int:
    """How many crashes there were when the child was given up, or its fractions at an end."""
    shard = Crashing(folder, 0, 1, 1)
    shard.fractions = list(fractions)
    shard.start()
    while not shard.check_child() and shard.fractions:
        pass
    return len(fractions) - len(shard.fractions)


def test_three_crashes_in_a_row_are_the_end(tmp_path):
    assert crashes(tmp_path, [0.0] * 9) == CRASHES == 3


def test_a_hair_further_is_no_further(tmp_path):
    assert crashes(tmp_path, [0.50, 0.505, 0.511, 0.516, 0.52]) == CRASHES


def test_a_child_that_gets_further_between_crashes_may_crash_more_often(tmp_path):
    fractions = [0.0, 0.2, 0.2, 0.35, 0.35, 0.7, 0.9, 0.9, 0.9, 0.9]
    assert crashes(tmp_path, fractions) == len(fractions) - 1


def test_it_says_what_ended_it(tmp_path, capsys):
    shard = Crashing(tmp_path, 2, 4, 1)
    shard.fractions = [0.0] * CRASHES
    shard.start()
    assert [shard.check_child() for _ in range(CRASHES)] == [False, False, True]
    assert shard.failure.startswith("the training process crashed 3 times in a row (exit status 1)")
    assert capsys.readouterr().out.count("starting it again") == CRASHES - 1


class CrashingInCalls(Shard):
    """A child that crashes in calls of these candidates, one after another; None: between calls."""

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        CallMark(self.folder)
        if (index := self.calls.pop(0)) is not None:
            (self.folder / FILE).write_bytes((CANDIDATES + 1 + index).to_bytes(8, sys.byteorder))
        self.process = subprocess.Popen(["false"])
        self.process.wait()


def dropped(folder: Path, calls: list[int | None]) -> dict[int, str]:
    """The candidates that were dropped by the last of these crashes."""
    shard = CrashingInCalls(folder, 2, 5, 1)
    shard.calls = [*calls, None]
    shard.start()
    while shard.calls and not shard.check_child():
        pass
    return read_dropped(shard.folder)


def test_two_crashes_in_one_candidates_calls_drop_it_and_the_next_one_too(tmp_path):
    given_up = dropped(tmp_path, [3, 3, 4, 4])
    assert list(given_up) == [3, 4] and CRASHES_IN_ONE_CALL == 2
    assert given_up[3].startswith("run: its calls ended the training process 2 times (exit status 1)")


@pytest.mark.parametrize("calls", [[3, 4], [3, None], [None, None], [7, 7]])
def test_crashes_in_other_calls_drop_nobody(tmp_path, calls):
    assert dropped(tmp_path, calls) == {}


def test_time_left_is_known_where_a_minute_lies_between_two_iterations(tmp_path):
    shard = Shard(tmp_path, 0, 1, 1)
    shard.folder.mkdir(parents=True)
    for now, fraction in ((0, 0.0), (1, 0.1), (61, 0.2), (121, 0.3)):
        progress = Progress("training", fraction=fraction, samples=int(1000 * fraction))
        write_json(shard.folder / "progress.json", progress)
        shard.observe(now)
        shard.observe(now + 30)
    assert shard.speed() == pytest.approx((0.1 / 60, 100 / 60))
    assert shard.seconds_left(progress, 151) == pytest.approx(0.7 * 600 - 30)


def test_time_left_has_the_sessions_ahead_and_not_those_that_were_held(tmp_path):
    """Iterations of 30 s, a session of 100 s in the second; then two sessions of 200 s to come."""
    shard = Shard(tmp_path, 0, 1, 1)
    shard.folder.mkdir(parents=True)
    for now, fraction, learned, ahead in ((0, 0.0, 0, None), (30, 0.1, 0, None), (160, 0.2, 100, 400.0)):
        progress = Progress("training", fraction, samples=10, learning_seconds=learned, learning_left=ahead)
        write_json(shard.folder / "progress.json", progress)
        shard.observe(now)
        if ahead is None:
            assert shard.seconds_left(progress, now) is None
    assert shard.seconds_left(progress, 160) == pytest.approx(0.8 * 300 + 400)
    assert shard.seconds_left(progress, 250) == pytest.approx(0.8 * 300 + 400 - 90)
