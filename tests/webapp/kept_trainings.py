"""Trainings that are alike in every run: each is done once, and kept for as long as its programs stay as they are."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.webapp.servers import make_once
from trainer import launch
from trainer.records import TrainJob

PROGRAMS = (
    "trainer/**/*.py",
    *(f"simulation/**/*.{ending}" for ending in ("py", "xml", "pt")),
    "tests/short_training.py",
)
do_train = launch.train


def find_kept(job: TrainJob) -> Path:
    """The folder of this job after its training."""
    name = f"training-{hashlib.sha256(repr(job).encode()).hexdigest()[:12]}"

    def make(folder: Path) -> None:
        assert do_train(folder / name, job).wait() == 0

    return make_once(name, PROGRAMS, make)


@pytest.fixture
def kept_trainings(short_trainings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A training that begins has its results at once."""

    def train(folder: Path, job: TrainJob, **options: Any) -> Any:
        if not (folder / "checkpoints").exists():
            shutil.copytree(find_kept(job), folder, dirs_exist_ok=True)
        return do_train(folder, job, **options)

    monkeypatch.setattr(launch, "train", train)
