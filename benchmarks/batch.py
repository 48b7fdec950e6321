"""Trainings of many experiments in one batch: a process starts once for hundreds of candidates, not for six."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from simulation import catalog
from trainer import launch
from trainer.commands.train import format_training
from trainer.records import CandidateResult, TrainJob, read_progress, read_result, resolve_preset

AT_ONCE = 240
"""Candidates of one batch; a program that was stopped goes on within it."""
TELL_SECONDS = 20.0


@dataclass(frozen=True)
class Training:
    """One candidate with one seed."""

    source: str
    seed: int
    episodes: int = 0
    """Episodes in which the final policy's mean actions are evaluated; 0: it is not evaluated."""
    by_metric: bool = False


class Trainings:
    """Results on one task with one setting, kept in a folder, so that nothing is trained twice."""

    def __init__(
        self, folder: Path, task: str, overrides: dict[str, float | int] | None = None, preset: str = "quick"
    ) -> None:
        self.folder, self.task, self.overrides, self.preset = folder, task, overrides or {}, preset
        self.folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "trained.jsonl"
        rows = map(json.loads, self.file.read_text().splitlines()) if self.file.exists() else []
        self.known = {row["key"]: CandidateResult(**row["result"]) for row in rows}

    def find(self, training: Training) -> CandidateResult:
        """The result of a training that `train` was given."""
        return self.known[self._key(training)]

    def train(self, wanted: Iterable[Training]) -> None:
        """Train what has no result yet; trainings with the same settings share a batch."""
        missing = {self._key(one): one for one in wanted if self._key(one) not in self.known}
        for kind in sorted({(one.episodes, one.by_metric) for one in missing.values()}):
            alike = [one for one in missing.values() if (one.episodes, one.by_metric) == kind]
            for first in range(0, len(alike), AT_ONCE):
                self._train_batch(alike[first : first + AT_ONCE], f"{first} of {len(alike)} are done")

    def _train_batch(self, batch: Sequence[Training], done: str) -> None:
        job = TrainJob(
            self.task,
            tuple(one.source for one in batch),
            self.preset,
            overrides=self.overrides,
            film_at=(),
            seeds=tuple(one.seed for one in batch),
            by_metric=batch[0].by_metric,
            episodes=batch[0].episodes,
        )
        folder = self.folder / _digest(asdict(job))
        process = launch.train(folder, job, die_with_parent=True)
        try:
            while not _has_ended(process):
                print(f"{done}; {len(batch)} of {self.task}: {format_training(read_progress(folder))}", flush=True)
        finally:
            launch.stop(process)
        result = read_result(folder)
        if result is None or result.error:
            raise RuntimeError(result.error if result else f"the training ended without a result: see {folder}/log.txt")
        with self.file.open("a") as file:
            for one, found in zip(batch, result.candidates, strict=True):
                self.known[self._key(one)] = found
                file.write(json.dumps({"key": self._key(one), "result": asdict(found)}) + "\n")
        shutil.rmtree(folder)

    def _key(self, training: Training) -> str:
        """A name of the training, which changes with the values of the preset."""
        preset = resolve_preset(TrainJob(self.task, (training.source,), self.preset, overrides=self.overrides))
        return _digest([self.task, asdict(preset), catalog.get_task(self.task).revision, asdict(training)])


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Wait for at most TELL_SECONDS; whether the process has ended."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(TELL_SECONDS)
    return process.returncode is not None


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:20]
