"""What a table was measured on: one line for all benchmarks."""

from __future__ import annotations

import os
import platform
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def machine(*packages: str) -> str:
    """Processor, cores, date and the versions of Python and of these packages, for the line above a table."""
    parts = [
        cpu_name(),
        f"{len(os.sched_getaffinity(0))} cores",
        str(date.today()),
        f"Python {platform.python_version()}",
    ]
    return ", ".join(parts + [f"{package} {installed(package)}" for package in ("mujoco", "torch", *packages)])


def cpu_name() -> str:
    """The processor's name where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.processor())


def installed(package: str) -> str:
    """The package's version, or a dash."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "-"
