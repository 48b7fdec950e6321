"""The practice clips: real rollouts that differ so plainly that everybody ranks them alike."""

from pathlib import Path

import numpy as np
import pytest

from simulation import practice_clips

FOLDER = Path(__file__).resolve().parents[2] / "static" / "studio" / "practice"


@pytest.fixture(scope="module")
def rollouts():
    return {name: practice_clips.make_rollout(control) for name, control in practice_clips.CLIPS.items()}


@pytest.mark.slow
def test_each_holds_its_pole_worse_than_the_one_before(rollouts):
    tilt = [float(np.abs(rollout.qpos[:, 1]).mean()) for rollout in rollouts.values()]
    assert all(1.2 * before < after for before, after in zip(tilt, tilt[1:], strict=False))


def test_only_the_worst_falls(rollouts):
    falls = {name: int(rollout.restart[1:].sum()) for name, rollout in rollouts.items()}
    assert falls.pop("falls") >= 3
    assert set(falls.values()) == {0}


def test_the_kept_clips_are_all_there_and_small():
    kept = {path.name for path in FOLDER.iterdir()}
    assert kept == {f"{name}.{kind}" for name in practice_clips.CLIPS for kind in ("mp4", "jpg")}
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 600_000
