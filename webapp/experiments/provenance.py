"""The version of Prefine and the machine, as reports name them."""

from __future__ import annotations

import subprocess
from functools import cache

from django.conf import settings

from llm import prompts
from llm.replay import PROMPTS_MARK
from trainer import run
from trainer.machine import describe_machine
from webapp.experiments import run_folder
from webapp.experiments.models import Request

CODE = ("simulation", "trainer", "llm", "programs", "webapp")
"""The packages whose code decides an experiment's results."""


def describe_installation() -> dict[str, str]:
    """The version and machine of this process."""
    return {"version": read_version(), "machine": describe_machine()}


def describe_worker(request: Request | None) -> dict[str, str]:
    """The version and machine for a job's row; after a training also its "device", such as "cpu"."""
    device = run.describe_device(run_folder.get_folder(request)) if request else ""
    return {**describe_installation(), "device": device} if device else describe_installation()


def read_version() -> str:
    """The version on the disk, with the commit in a git checkout."""
    known = read_commit()
    return f"{settings.VERSION} ({known})" if known else str(settings.VERSION)


@cache
def get_running_version() -> str:
    """The version that this process runs: later changes on the disk do not count."""
    return read_version()


def get_asking_version() -> str:
    """The version that asks a model, with the name of the prompts of one's own that it asks with."""
    own = prompts.hash_texts(prompts.read_own())
    return f"{get_running_version()}{PROMPTS_MARK}{own}" if own else get_running_version()


def read_commit() -> str:
    """The commit of this checkout, with "-dirty" if files were changed; empty without git."""
    return _run_git("describe", "--always", "--dirty", "--abbrev=40") or ""


def code_is_committed() -> bool:
    """Whether this is a git checkout in which no code is changed or new."""
    return bool(read_commit()) and _run_git("status", "--porcelain", "--", *CODE) == ""


def _run_git(*arguments: str) -> str | None:
    """Output of git in this checkout; None without git."""
    command = ["git", "-C", str(settings.BASE_DIR), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
