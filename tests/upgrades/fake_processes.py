"""Stand-ins for the processes that train, film and check: they answer at once, through the same files and lines.

Tests with them cover the site's part. They read and write the files of trainer.records and simulation.film.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from simulation.rewards.verdict import Verdict
from trainer import launch
from trainer.records import CandidateResult, TrainResult, read_job, write_json

NO_PROCESS = 2**22 + 1
"""Above the largest id that Linux gives."""
SERIES = {"samples": [0.1 * step for step in range(10)], "max": 0.9, "mean": 0.45, "min": 0.0}


@contextmanager
def replace_processes(clips: Path) -> Iterator[None]:
    """Trainings, films and checks that take no time; films are copies of one that lies in this folder."""
    process = SimpleNamespace(
        Popen=lambda command, **_: _begun(command, clips),
        run=lambda command, **_: SimpleNamespace(stdout=_checked(command), stderr="", returncode=0),
        **{name: getattr(subprocess, name) for name in ("DEVNULL", "PIPE", "TimeoutExpired")},
    )
    with mock.patch.object(launch, "subprocess", process):
        yield


def _begun(command: Sequence[str], clips: Path) -> Any:
    done = {"trainer.run": _trained, "simulation.film": _filmed}[command[2]]
    said = io.StringIO(done(command[3:], clips))
    return SimpleNamespace(pid=NO_PROCESS, returncode=0, stdout=said, poll=lambda: 0, wait=lambda timeout=None: 0)


def _trained(arguments: Sequence[str], _: Path) -> str:
    folder = Path(arguments[0])
    count = len(read_job(folder).sources)
    policies = folder / "checkpoints" / "policies"
    policies.mkdir(parents=True, exist_ok=True)
    for index in range(count):
        (policies / f"{index}.pt").write_bytes(b"a policy")
    found = [
        CandidateResult(
            index=index,
            ok=True,
            trace={"total": SERIES, "upright": SERIES},
            metric_trace={**SERIES, "all": SERIES["samples"]},
            rts=10.0 + index,
            final_score=9.0 + index,
        )
        for index in range(count)
    ]
    write_json(folder / "result.json", TrainResult(tuple(found), seconds=1.0, samples=1000))
    return ""


def _filmed(arguments: Sequence[str], clips: Path) -> str:
    lines = []
    for target in map(Path, arguments[1::2]):
        example = next(clips.glob("*.mp4"))
        shutil.copyfile(example, target)
        shutil.copyfile(example.with_suffix(".jpg"), target.with_suffix(".jpg"))
        lines.append(json.dumps({"clip": str(target), "ok": True, "error": "", "seconds": 0.1}))
    return "\n".join(lines)


def _checked(command: Sequence[str]) -> str:
    """Every reward may be trained."""
    return json.dumps([asdict(Verdict(True, "done", "")) for name in command if name.endswith(".py")])
