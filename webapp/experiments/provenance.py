"""Which version of Prefine works here and on what machine, as reports name them."""

from __future__ import annotations

import subprocess
from functools import cache

from django.conf import settings

from trainer import run
from trainer.machine import described
from webapp.experiments import run_folder
from webapp.experiments.models import Request

CODE = ("simulation", "trainer", "llm", "programs", "webapp")
"""What decides what comes of an experiment."""


def describe_installation() -> dict[str, str]:
    """The version and machine that try candidates here."""
    return {"version": read_version(), "machine": described()}


def describe_worker(request: Request | None) -> dict[str, str]:
    """What the row of a job in which candidates were tried keeps of whoever did it; "device" where it was a training:
    "cpu", or "cuda:0" and the GPU's name.
    """
    device = run.device_in_words(run_folder.get_folder(request)) if request else ""
    return {**describe_installation(), "device": device} if device else describe_installation()


def read_version() -> str:
    """With the commit, where the code is a git checkout."""
    known = read_commit()
    return f"{settings.VERSION} ({known})" if known else str(settings.VERSION)


@cache
def get_running_version() -> str:
    """The version that this process began with: what is changed on the disk later does not run in it."""
    return read_version()


def read_commit() -> str:
    """Of this checkout, with "-dirty" where files were changed; empty where it is none."""
    return _run_git("describe", "--always", "--dirty", "--abbrev=40") or ""


def code_is_committed() -> bool:
    """Whether the commit says which code runs: where it is a checkout, and no program in it is changed or new."""
    return bool(read_commit()) and _run_git("status", "--porcelain", "--", *CODE) == ""


def _run_git(*arguments: str) -> str | None:
    """What git says of this checkout; None where there is none."""
    command = ["git", "-C", str(settings.BASE_DIR), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
