"""What results depend on besides the program: the processor, its cores and the versions of packages."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib import metadata
from pathlib import Path

PACKAGES = ("mujoco", "torch")
"""Whose versions change what a training gives, and how long it takes."""


def describe_machine(*packages: str) -> str:
    """Processor, cores and the versions of Python, MuJoCo, PyTorch and these packages; no name of a host."""
    count = len(os.sched_getaffinity(0))
    cores = f"{count} core{'' if count == 1 else 's'}"
    versions = [f"{package} {find_version(package) or '-'}" for package in (*PACKAGES, *packages)]
    return ", ".join([read_processor(), cores, f"Python {platform.python_version()}", *versions])


def read_processor() -> str:
    """Its name where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine())


@cache
def find_version(package: str) -> str:
    """The package's version as this process found it first; empty where it is not there."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
