"""The jail: `lock` confines the process that runs generated code, `check` gives the whole verdict on sources.

What it stops and what it does not: docs/decisions/0003-hostile-code.md.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from simulation import catalog
from simulation.rewards import landlock
from simulation.rewards.verdict import Verdict
from simulation.tasks import OWN_FOLDERS

ROOT = Path(__file__).parents[2]
READABLE = (ROOT / "simulation", ROOT / "trainer", *map(Path, ("/usr", "/lib", "/lib64", "/etc/ld.so.cache")))
READABLE_FACTS = tuple(map(Path, ("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system", "/proc/driver/nvidia")))
DEVICES = tuple(map(Path, ("/dev/null", "/dev/urandom")))
FILE_BYTES = 4 << 30
"""The largest file that a locked process may write."""
OPEN_FILES = 256
STARTUP_SECONDS = 120.0
"""How long the checking process may take to load torch and simulate the samples."""
CAPABILITY_VERSION = 0x20080522
PR_SET_NO_NEW_PRIVS = 38

log = logging.getLogger(__name__)


class SandboxError(RuntimeError):
    """The jail could not be built, or the checking process failed; this is no verdict on the sources."""


def lock(
    writable: Sequence[Path] = (), memory_bytes: int | None = None, cpu_seconds: int | None = None
) -> tuple[str, ...]:
    """Lock this process down for good: before it compiles or runs generated code, after it has loaded its libraries.

    From then on: no network, no new process, no exec, no signal to others, no file but the Python installation and this
    package (to read) and `writable` (files or folders, to read and write), no capabilities, at most `memory_bytes` of
    address space and `cpu_seconds` of processor time beyond what the process uses now (None: unlimited).
    The environment is emptied; temporary files go to the first writable folder.

    Returns what this machine could not provide, as sentences for the log. Raises SandboxError when the system-call
    filter cannot be set: then nothing generated may run.
    """
    writable = [Path(path).resolve() for path in writable]
    _clear_environment(writable)
    try:
        from simulation.rewards import syscalls  # looks for libseccomp when imported
    except RuntimeError as error:
        raise SandboxError(f"{error}: install it (Debian: apt-get install libseccomp2)") from None
    _limit(memory_bytes, cpu_seconds)
    _drop_privileges()
    notes = _restrict_files(writable)
    try:
        syscalls.restrict()
    except OSError as error:
        raise SandboxError(f"the kernel refused the system-call filter: {error}") from error
    return notes


def _clear_environment(writable: list[Path]) -> None:
    """Empty the environment of secrets; keep what libraries that load late need: a temporary folder and a user's
    name.
    """
    os.environ.clear()
    folder = next((path for path in writable if path.is_dir()), None)
    if folder is not None:
        os.environ.update(TMPDIR=str(folder), HOME=str(folder), USER="prefine")


def _limit(memory_bytes: int | None, cpu_seconds: int | None) -> None:
    """Resource limits, soft and hard alike, so that they cannot be raised again."""
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: FILE_BYTES, resource.RLIMIT_NOFILE: OPEN_FILES}
    if memory_bytes is not None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limits[resource.RLIMIT_AS] = pages * resource.getpagesize() + memory_bytes
    if cpu_seconds is not None:
        limits[resource.RLIMIT_CPU] = int(time.process_time()) + 1 + cpu_seconds
    for name, value in limits.items():
        hard = resource.getrlimit(name)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(name, (value, value))


def _drop_privileges() -> None:
    """Drop all privileges and forbid gaining any, which matters where the process runs as root."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.capset(header, (ctypes.c_uint32 * 6)()):
        raise SandboxError(f"privileges could not be dropped: {os.strerror(ctypes.get_errno())}")


def _restrict_files(writable: list[Path]) -> tuple[str, ...]:
    if landlock.version() == 0:
        return ("this kernel has no Landlock: generated code could read files and write wherever this user can",)
    installation = {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}
    readable = [*READABLE, *catalog.list_own_folders(), *READABLE_FACTS, *map(Path, sorted(installation))]
    try:
        landlock.restrict(readable, writable, [*DEVICES, *Path("/dev").glob("nvidia*")])
    except OSError as error:
        raise SandboxError(str(error)) from error
    return ()


def check(task: str, sources: Sequence[str], timeout: float = 20.0, states: int = 0) -> list[Verdict]:
    """The whole verdict on each source, in order: syntax, then dry runs on states of the task, in a locked process.

    `timeout`: wall-clock seconds for one source. `states`: for how many training calls a reward at once; 0: for as many
    as the quick preset. Raises ValueError on an unknown task, and SandboxError when the checking process itself fails.
    """
    states = states or next(iter(catalog.get_task(task).presets.values())).states
    request = json.dumps({"task": task, "sources": list(sources), "timeout": timeout, "states": states})
    start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from simulation.rewards import dry_run; dry_run.main()"
    own = {"PREFINE_TASKS": os.pathsep.join(map(str, OWN_FOLDERS))} if OWN_FOLDERS else {}
    with tempfile.TemporaryDirectory(prefix="prefine-check-") as empty:
        try:
            process = subprocess.run(
                [sys.executable, "-I", "-c", start],
                input=request,
                capture_output=True,
                text=True,
                cwd=empty,
                env={"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "LC_ALL": "C.UTF-8"} | own,
                timeout=STARTUP_SECONDS + timeout * len(sources),
            )
        except subprocess.TimeoutExpired:
            raise SandboxError("the checking process did not answer in time") from None
    if process.returncode != 0:
        raise SandboxError(f"the checking process failed: {process.stderr.strip()[-2000:]}")
    for note in process.stderr.splitlines():
        log.warning(note)
    return [Verdict.from_record(verdict) for verdict in json.loads(process.stdout)]
