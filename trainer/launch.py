"""Start training, filming and checking as subprocesses. Imports neither torch nor mujoco, so that a web process may
import it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from simulation.rewards.verdict import Verdict
from trainer.process import ROOT, clean_environment
from trainer.records import TrainJob, read_job, read_result, write_json

CHECK_START_SECONDS = 240.0
CHECK_SECONDS = 30.0
"""Seconds for checking one source. The checker's own limits are stricter, so only a hanging checker meets these."""


def train(job_dir: Path, job: TrainJob, *, die_with_parent: bool = False) -> subprocess.Popen[bytes]:
    """Start or continue this job in this folder, in its own process group.

    A folder with checkpoints of the same job continues from them; the result of a run that failed as a whole is removed
    and the run tried again. With `die_with_parent` the run ends, resumable, soon after the calling process does. Raises
    ValueError when the folder holds another job.
    """
    job_dir = Path(job_dir)
    job_dir.mkdir(parents=True, exist_ok=True)
    if holds_other_job(job_dir, job):
        raise ValueError(f"{job_dir} holds another job; use a folder of its own for each")
    result = read_result(job_dir)
    if result is not None and result.error:
        (job_dir / "result.json").unlink()
    (job_dir / "cancel").unlink(missing_ok=True)  # meant for an earlier attempt, which ended before it saw the file
    write_json(job_dir / "job.json", job)
    command = [sys.executable, "-m", "trainer.run", str(job_dir.resolve())]
    if die_with_parent:
        command += ["--parent", str(os.getpid())]
    with (job_dir / "log.txt").open("ab") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=ROOT,
            env=clean_environment(),
            start_new_session=True,
        )


def holds_other_job(job_dir: Path, job: TrainJob) -> bool:
    """Whether the folder belongs to another job, or to one that this version cannot read. Fields that came later count
    with their defaults.
    """
    try:
        return _job_to_json(read_job(job_dir)) != _job_to_json(job)
    except FileNotFoundError:
        return False
    except (AttributeError, TypeError, ValueError):  # a newer version's, or damaged
        return True


def _job_to_json(job: TrainJob) -> dict[str, Any]:
    """The job as a file holds it."""
    described: dict[str, Any] = json.loads(json.dumps(asdict(job)))
    return described


def record(policy: Path, episodes: Iterable[tuple[int, Path]]) -> subprocess.Popen[str]:
    """Start recording episodes of a policy, each by its seed into a rollout file. The process says on its stderr what
    fails, and reads no reward function.
    """
    command = [sys.executable, "-m", "trainer.commands.record", str(Path(policy).resolve())]
    for seed, rollout in episodes:
        command += [str(seed), str(Path(rollout).resolve())]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=clean_environment(),
        start_new_session=True,
    )


def film(pairs: Iterable[tuple[Path, Path]]) -> subprocess.Popen[str]:
    """Start filming (rollout file, clip file) pairs; one JSON line per clip on the process's stdout."""
    command = [sys.executable, "-m", "simulation.film"]
    for rollout, clip in pairs:
        command += [str(Path(rollout).resolve()), str(Path(clip).resolve())]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=clean_environment(),
        start_new_session=True,
    )


def check(task: str, sources: Sequence[str], states: int = 0) -> list[Verdict]:
    """The verdict on each reward source, in order: syntax, then a dry run in a jailed process.

    `states`: the number for which training calls a reward at once (`catalog.Preset.states`); 0: the quick preset's.

    Raises RuntimeError when the checker itself did not answer, or not in time.
    """
    if not sources:
        return []
    with tempfile.TemporaryDirectory(prefix="prefine-check-") as folder:
        files = [Path(folder, f"{index}.py") for index in range(len(sources))]
        for file, source in zip(files, sources, strict=True):
            file.write_text(source)
        limit = CHECK_START_SECONDS + CHECK_SECONDS * len(files)
        try:
            done = subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "trainer.commands.check",
                    "--task",
                    task,
                    "--states",
                    str(states),
                    *map(str, files),
                ],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                cwd=ROOT,
                env=clean_environment(),
                timeout=limit,
            )
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"the reward checker gave no answer within {limit:g} s and was stopped") from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        said = f"the reward checker failed with exit status {done.returncode}: {done.stderr.strip()[-1000:]}"
        answer = {"stage": "input", "reason": said}
    verdicts = [answer] if isinstance(answer, dict) else answer
    if verdicts[0]["stage"] == "input":
        raise RuntimeError(verdicts[0]["reason"])
    return [Verdict.from_record(verdict) for verdict in verdicts]


def stop(process: subprocess.Popen[bytes] | subprocess.Popen[str], timeout: float = 3.0) -> None:
    """End a process started here and all its children: by SIGTERM, and after `timeout` seconds by SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            continue
    process.wait()
