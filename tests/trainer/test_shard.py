"""One child of a run: how often it may crash."""

import subprocess
from pathlib import Path

import pytest

from trainer.records import Progress, write_json
from trainer.shard import CRASHES, Shard

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
    while not shard.over() and shard.fractions:
        pass
    return len(fractions) - len(shard.fractions)


def test_three_crashes_in_a_row_are_the_end(tmp_path):
    assert crashes(tmp_path, [0.0] * 9) == CRASHES == 3


def test_a_hair_further_is_no_further(tmp_path):
    assert crashes(tmp_path, [0.50, 0.505, 0.511, 0.516, 0.52]) == CRASHES


def test_whoever_gets_further_between_crashes_may_crash_more_often(tmp_path):
    fractions = [0.0, 0.2, 0.2, 0.35, 0.35, 0.7, 0.9, 0.9, 0.9, 0.9]
    assert crashes(tmp_path, fractions) == len(fractions) - 1


def test_it_says_what_ended_it(tmp_path, capsys):
    shard = Crashing(tmp_path, 2, 4, 1)
    shard.fractions = [0.0] * CRASHES
    shard.start()
    assert [shard.over() for _ in range(CRASHES)] == [False, False, True]
    assert shard.failure.startswith("the training process crashed 3 times in a row (exit status 1)")
    assert capsys.readouterr().out.count("starting it again") == CRASHES - 1
