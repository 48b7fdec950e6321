"""Run one command in the jail: from a file, into files, until it ends or a limit ends it."""

from __future__ import annotations

import json
import math
import os
import resource
import select
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs.jailed_exec import make_request
from programs.lock import Permissions
from programs.records import JailError

ROOT = Path(__file__).parents[1]
LAUNCHER_CPU_SECONDS = 1
"""Allowed beside the program's own: the launcher's start counts against the same limit."""
NOTE_BYTES = 4000


@dataclass(frozen=True)
class Ended:
    """How a jailed process ended."""

    status: int
    """Exit status; negative: the signal that ended it."""
    seconds: float
    """Processor time of the program itself, children included."""
    memory_mb: float
    timed_out: bool
    """Seconds by the wall clock."""
    errors: str
    """The beginning of its stderr."""
    not_started: str = ""
    """Why the kernel could not execute the command."""


def run(
    command: list[str], permissions: Permissions, folder: Path, stdin: Path, stdout: Path, wall_seconds: float
) -> Ended:
    """Run `command` in `folder` under the limits of `permissions`, stderr beside `stdout`.

    Raises JailError when the jail cannot be built, and OSError when the files cannot be opened.
    """
    stderr = stdout.with_suffix(".err")
    ours, theirs = os.pipe()
    start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from programs.jailed_exec import main; main(sys.argv[1])"
    try:
        with stdin.open("rb") as source, stdout.open("wb") as sink, stderr.open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-I", "-B", "-c", start, make_request(permissions, command, theirs)],
                stdin=source,
                stdout=sink,
                stderr=errors,
                cwd=folder,
                env={},
                pass_fds=(theirs,),
                start_new_session=True,
            )
    finally:
        os.close(theirs)
    with os.fdopen(ours, "rb") as status:
        timed_out, code, used = _wait(process, wall_seconds)
        said: dict[str, Any] = {}
        for line in status:
            said.update(json.loads(line))
    if "cpu" not in said:
        raise JailError(f"{said.get('error', 'it ended before the jail was built')} {_read_beginning(stderr)}".strip())
    seconds = max(0.0, used.ru_utime + used.ru_stime - said["cpu"])
    not_started = said.get("not_started", "")
    return Ended(code, seconds, used.ru_maxrss / 1024, timed_out, _read_beginning(stderr), not_started)


def _wait(process: subprocess.Popen[bytes], seconds: float) -> tuple[bool, int, resource.struct_rusage]:
    """Whether the wall clock ended it, its exit status, and what it used. Nothing of its group is left behind."""
    handle = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        ended = bool(poll.poll(math.ceil(seconds * 1000)))
    finally:
        os.close(handle)
        os.killpg(process.pid, signal.SIGKILL)  # not yet waited for: the group is still its own
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return not ended, process.returncode, used


def _read_beginning(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(NOTE_BYTES).decode(errors="replace").strip()
