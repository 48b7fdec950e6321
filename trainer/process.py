"""How the trainer's processes are started and how they end together. Imports neither torch nor mujoco."""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The folder that holds the packages."""

KEPT_VARIABLES = frozenset(
    {"PATH", "HOME", "LANG", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES"}
) | {f"PREFINE_{name}" for name in ("DEVICE", "TASKS", "ISAACGYM_PYTHON", "ISAACGYM_ASSETS")}
KEPT_PREFIXES = ("LC_", "MUJOCO_", "OMP_", "EGL_", "LIBGL_", "MESA_", "PYOPENGL_")
PR_SET_PDEATHSIG = 1
EXIT_DISK_FULL = 74
"""Exit status of a process that stopped because a disk is full."""
EXIT_WAITS = 75
"""Exit status of a training that goes on when its pairs are answered (trainer.preferences.exchange)."""
MOST_MEMORY, LEAST_MEMORY = 16 << 30, 1 << 30
"""Bytes that a training process may take beyond its libraries, where the machine has them: the largest preset needs a
fraction. A reward that asks for more than there is must meet this limit, not the kernel's, which kills the process.
"""
SHARED = 0.75
"""The share of the machine's memory that all processes of a training may take together."""
CONTROL_GROUP = Path("/sys/fs/cgroup/memory.max")
"""The limit of the container that this process runs in: a number, or "max"."""


def compute_memory_share(processes: int) -> int:
    """The bytes of memory that each of `processes` training processes on this machine may take."""
    return min(MOST_MEMORY, max(LEAST_MEMORY, int(SHARED * read_memory_size()) // processes))


def read_memory_size() -> int:
    """Bytes of memory that this machine, or this container, has."""
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = CONTROL_GROUP.read_text().strip() if CONTROL_GROUP.exists() else ""
    return min(installed, int(limit)) if limit.isdigit() else installed


def clean_environment(**extra: str) -> dict[str, str]:
    """The environment for a process that runs generated code: what is needed to start, no keys, no tokens, plus
    `extra`.
    """
    kept = {k: v for k, v in os.environ.items() if k in KEPT_VARIABLES or k.startswith(KEPT_PREFIXES)}
    return kept | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"} | extra


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when `parent`, which must be its parent, ends; exits at once if it already has.

    The signal comes when the *thread* that started this process ends, so only for children of a main thread.
    """
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        raise SystemExit(f"parent process {parent} is gone")
