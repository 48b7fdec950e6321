"""Which version of Prefine works here and on what machine, as reports name them."""

from __future__ import annotations

import functools
import subprocess
import tomllib

from django.conf import settings

from trainer.machine import described


@functools.cache
def made_by() -> dict[str, str]:
    """What a job's row keeps of whoever finished it."""
    return {"version": version(), "machine": described()}


def version() -> str:
    """With the commit, where the code is a git checkout."""
    return f"{release()} ({commit()})" if commit() else release()


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
