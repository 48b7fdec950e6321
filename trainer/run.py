"""Coordinate a training run: `python -m trainer.run JOB_DIR`. Imports neither torch nor mujoco.

Splits the job's candidates over single-threaded processes (trainer.lockstep), merges their progress and results, ends
them when `cancel` appears or the parent goes, and continues from their checkpoints when started again on the same
folder.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import fcntl
import json
import operator
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from simulation.rewards.verdict import shorten
from trainer.log_lines import say
from trainer.process import EXIT_DISK_FULL, EXIT_WAITS, compute_memory_share
from trainer.records import (
    WARM,
    CandidateProgress,
    CandidateResult,
    Progress,
    TrainJob,
    TrainResult,
    read_job,
    read_progress,
    read_result,
    write_json,
)
from trainer.saved_preset import keep_preset
from trainer.shard import Shard

NVIDIA = Path("/dev/nvidiactl")
"""Exists where NVIDIA's driver is installed; without it PyTorch need not be asked for a CUDA device."""
DEVICES = re.compile(r"cpu|cuda:\d+|bridge:\w+")
"""Names of devices, as simulation.backends.choice has them."""
GPU_NAME = re.compile(r"[\w ().,/+-]{0,80}", re.ASCII)
POLL_SECONDS = 0.1
PROGRESS_SECONDS = 0.5
CANCEL_SECONDS = 15.0
"""How long after a cancellation a shard may take to write its result."""


class ParentGone(Exception):
    """The process that this run should end with has ended."""


def main() -> int:
    """Run the job; exit status 0 when result.json holds results, 1 when it holds an error. A later start goes on after
    EXIT_DISK_FULL, and after EXIT_WAITS with answers.
    """
    parser = argparse.ArgumentParser(prog="python -m trainer.run", description="Train the job in this folder.")
    parser.add_argument("job_dir", type=Path)
    parser.add_argument("--parent", type=int, help="stop, resumable, when this process is no longer the parent")
    arguments = parser.parse_args()
    job_dir = arguments.job_dir.resolve()
    try:
        with lock_folder(job_dir):
            return 0 if read_result(job_dir) is not None else run(job_dir, arguments.parent)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        with contextlib.suppress(OSError):
            say(f"no space left on the disk of {job_dir}: free some and start again; it continues")
        return EXIT_DISK_FULL


def run(job_dir: Path, parent: int | None) -> int:
    """Train, and write the result. Raises OSError when the disk is full."""
    for left in job_dir.rglob("*.tmp"):  # of processes that were killed while they wrote
        with contextlib.suppress(OSError):
            left.unlink()
    with contextlib.ExitStack() as stack:
        try:
            result = coordinate(job_dir, read_job(job_dir), parent, stack)
        except ParentGone:
            say("the parent process is gone; stopped, to be continued")
            return 1
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            reason = f"{type(error).__name__}: {error}" if isinstance(error, OSError) else str(error)
            result = TrainResult(candidates=(), error=reason)
    if result is None:
        return EXIT_WAITS
    if result.error:
        with contextlib.suppress(OSError):
            print(result.error, file=sys.stderr, flush=True)
    write_json(job_dir / "result.json", result)
    return 1 if result.error else 0


@contextlib.contextmanager
def lock_folder(job_dir: Path) -> Iterator[None]:
    """Lock the folder, so that two coordinators never write into it at once; waits for an ending one."""
    (job_dir / "checkpoints").mkdir(exist_ok=True)
    with (job_dir / "checkpoints" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def coordinate(job_dir: Path, job: TrainJob, parent: int | None, stack: contextlib.ExitStack) -> TrainResult | None:
    """Start or continue the shards and wait for them; the stack kills those that still run when it closes. None: some
    wait for answers about pairs.
    """
    keep_preset(job_dir, job)
    if not job.sources:
        raise ValueError("the job has no reward functions: sources is empty")
    shards = split(job_dir, job)
    require_warm(job_dir, job, shards)
    for shard in shards:
        if read_result(shard.folder) is None:
            shard.start()
            stack.callback(shard.stop)
    told = cancelled = 0.0
    while not all([shard.check_child() for shard in shards]):
        if parent is not None and os.getppid() != parent:
            raise ParentGone
        now = time.monotonic()
        if not cancelled and (job_dir / "cancel").exists():
            cancelled = now
        if cancelled and now - cancelled > CANCEL_SECONDS:
            for shard in shards:
                shard.stop()
                shard.failure = shard.failure or "cancelled"
        if now - told >= PROGRESS_SECONDS:
            write_json(job_dir / "progress.json", merge_progress(shards, "training", now))
            told = now
        time.sleep(POLL_SECONDS)
    if any(shard.waits for shard in shards) and not cancelled:
        write_json(job_dir / "progress.json", merge_progress(shards, "waiting", time.monotonic()))
        return None
    write_json(job_dir / "progress.json", merge_progress(shards, "done", time.monotonic()))
    return merge_results(shards, bool(cancelled))


@dataclass(frozen=True)
class Split:
    """How the candidates of a job are divided among processes, as checkpoints/split.json holds it."""

    bounds: list[int]
    """Process i trains the candidates bounds[i] to bounds[i + 1] - 1."""
    device: str = "cpu"
    """Where all of them train, as simulation.backends.choice names it."""
    gpu: str = ""
    """Its name, where that is a CUDA device."""


def split(job_dir: Path, job: TrainJob) -> list[Shard]:
    """The candidates in contiguous parts of nearly equal size, one per process.

    A checkpoint holds what one process trains. So a run that goes on keeps its parts, also on a machine with more cores
    or fewer, and its device. Off the CPU one process holds all, and so it does with shared experience: results must not
    depend on how many cores a machine has. Raises ValueError where the device that is asked for is not here.
    """
    cores = len(os.sched_getaffinity(0))
    file = split_file(job_dir)
    if file.exists():
        parts = read_split(file, len(job.sources))
    else:
        (here, gpu), count = find_device_and_gpu(read_device_setting()), len(job.sources)
        divided = here == "cpu" and not job.shared_experience
        processes = min(job.processes or cores, count) if divided else 1
        parts = Split([round(i * count / processes) for i in range(processes + 1)], here, gpu)
        file.parent.mkdir(exist_ok=True)
        write_json(file, parts)
    bounds = parts.bounds
    threads, memory = max(1, cores // (len(bounds) - 1)), compute_memory_share(len(bounds) - 1)
    return [
        Shard(job_dir, first, last, threads, parts.device, memory)
        for first, last in zip(bounds[:-1], bounds[1:], strict=True)
    ]


def split_file(job_dir: Path) -> Path:
    """Where a run that has begun keeps its split."""
    return job_dir / "checkpoints" / "split.json"


def read_device(job_dir: Path, job: TrainJob) -> str:
    """The device of a run that has begun. Raises OSError where it has not, ValueError where its split is damaged."""
    return read_split(split_file(job_dir), len(job.sources)).device


def describe_device(job_dir: Path) -> str:
    """The same with the name of a GPU; empty where there is no run, or its split is damaged."""
    try:
        parts = read_split(split_file(job_dir), len(read_job(job_dir).sources))
    except (OSError, LookupError, TypeError, ValueError):
        return ""
    return f"{parts.device} {parts.gpu}".strip()


def find_device() -> str:
    """The device of a run that would begin at present. Raises ValueError where the named device is missing."""
    return require_device(read_device_setting())


def read_device_setting() -> str:
    """The device's name as the environment has it."""
    return os.environ.get("PREFINE_DEVICE") or "auto"


def read_split(file: Path, count: int) -> Split:
    """The split that this file holds. Raises ValueError unless it is one of `count` candidates: the folder is open to
    the processes that run generated code.
    """
    try:
        parts = Split(**json.loads(file.read_text()))
        begins, ends = parts.bounds[:-1], parts.bounds[1:]
        sound = (parts.bounds[0], parts.bounds[-1]) == (0, count) and all(map(operator.lt, begins, ends))
        sound = sound and all(type(bound) is int for bound in parts.bounds) and bool(DEVICES.fullmatch(parts.device))
        sound = sound and bool(GPU_NAME.fullmatch(parts.gpu))
    except (ValueError, TypeError, LookupError):
        sound = False
    if not sound:
        raise ValueError(f"{file} is damaged: remove the folder {file.parent} to start this run again")
    return parts


def require_warm(job_dir: Path, job: TrainJob, shards: list[Shard]) -> None:
    """Check that the policy to start from exists, before training has begun. Raises ValueError where it does not."""
    begun = all((shard.folder / "checkpoint.pt").exists() for shard in shards)
    if job.warm and not begun and not (job_dir / WARM).exists():
        raise ValueError(
            f"the job starts from another run's policy, but there is no {WARM} in {job_dir}: copy a "
            f"checkpoints/policies/<candidate>.pt there"
        )


def require_device(requested: str) -> str:
    """The device that this name stands for. Raises ValueError when it is not here."""
    return find_device_and_gpu(requested)[0]


def find_device_and_gpu(requested: str) -> tuple[str, str]:
    """The device that this name stands for, and a GPU's own name; another process asks PyTorch.

    Raises ValueError when it is not here.
    """
    if requested == "cpu" or (requested == "auto" and not NVIDIA.exists()):
        return "cpu", ""
    command = [sys.executable, "-m", "simulation.backends.choice", requested]
    answer = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if answer.returncode:
        raise ValueError(f"PREFINE_DEVICE: {answer.stderr.strip().splitlines()[-1]}")
    found, _, name = answer.stdout.strip().splitlines()[-1].partition(" ")
    return found, re.sub(r"[^\w ().,/+-]", "", name, flags=re.ASCII)[:80]


def merge_progress(shards: list[Shard], phase: str, now: float) -> Progress:
    """The progress of the whole run; it is over when its slowest shard is."""
    parts = [shard.observe(now) for shard in shards]
    candidates = [c for shard, part in zip(shards, parts, strict=True) for c in shard_candidates(shard, part)]
    left = [shard.seconds_left(part, now) for shard, part in zip(shards, parts, strict=True)]
    known = [seconds for seconds in left if seconds is not None]
    speeds = [shard.speed() for shard in shards if not shard.done]
    return Progress(
        phase="starting" if phase == "training" and all(part.phase == "starting" for part in parts) else phase,
        fraction=1.0
        if phase == "done"
        else sum(c.fraction if c.status == "training" else 1.0 for c in candidates) / len(candidates),
        seconds_left=max(known) if len(known) == len(left) else None,
        samples=sum(part.samples for part in parts),
        samples_per_second=sum(speed[1] for speed in speeds if speed),
        candidates=tuple(candidates),
        waits_at=min((part.waits_at for part in parts if part.waits_at is not None), default=None),
    )


def shard_candidates(shard: Shard, part: Progress) -> list[CandidateProgress]:
    """Where a shard's candidates are; failed, when the shard itself is."""
    known = {c.index: replace(c, reason=shorten(c.reason)) for c in part.candidates}
    candidates = [known.get(index, CandidateProgress(index)) for index in range(shard.first, shard.last)]
    if shard.failure:
        return [c if c.reason else replace(c, status="failed", reason=shard.failure) for c in candidates]
    return candidates


def merge_results(shards: list[Shard], cancelled: bool) -> TrainResult:
    """All candidates' results, in order; a shard without a result fails its own."""
    candidates: list[CandidateResult] = []
    seconds = 0.0
    for shard in shards:
        result = read_result(shard.folder)
        if result is None:
            known = {c.index: c for c in read_progress(shard.folder).candidates}
            for index in range(shard.first, shard.last):
                reason = (known[index].reason if index in known else "") or shard.failure
                candidates.append(CandidateResult(index, ok=False, reason=reason))
            continue
        candidates.extend(result.candidates)
        cancelled |= result.cancelled
        seconds = max(seconds, result.seconds)
    candidates = [replace(candidate, reason=shorten(candidate.reason)) for candidate in candidates]
    return TrainResult(tuple(candidates), seconds, sum(c.samples for c in candidates), cancelled)


if __name__ == "__main__":
    raise SystemExit(main())
