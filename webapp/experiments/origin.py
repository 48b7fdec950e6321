"""Which version of Prefine works here and on what machine, as reports name them."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

from django.conf import settings

PACKAGES = ("mujoco", "torch")
"""Whose versions change what a training gives, and how long it takes."""


@functools.cache
def made_by() -> dict[str, str]:
    """What a job's row keeps of whoever finished it."""
    return {"version": version(), "machine": machine()}


def version() -> str:
    """With the commit, where the code is a git checkout."""
    return f"{release()} ({commit()})" if commit() else release()


def machine() -> str:
    """Processor, cores and the versions that matter. Its name is nobody's business."""
    cores = f"{len(os.sched_getaffinity(0))} cores"
    packages = [f"{package} {installed(package) or '-'}" for package in PACKAGES]
    return ", ".join([processor(), cores, f"Python {platform.python_version()}", *packages])


def release() -> str:
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())["project"]
    return str(project["version"])


@functools.cache
def commit() -> str:
    """Of this checkout, with "-dirty" where files were changed; empty where it is none."""
    command = ["git", "-C", str(settings.BASE_DIR), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def processor() -> str:
    """Its name where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine())


def installed(package: str) -> str:
    """The package's version; empty where it is not there."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
