"""What made the data: Prefine, Python and the packages that matter."""

from __future__ import annotations

import functools
import platform
import subprocess
import tomllib
from importlib import metadata
from typing import Any

from django.conf import settings
from django.db import connection

PACKAGES = (
    *("Django", "celery", "channels", "scipy", "numpy", "torch", "mujoco", "mujoco-warp", "openai", "imageio-ffmpeg"),
    *("ffmpeg-python", "krippendorff"),
)


def versions() -> dict[str, Any]:
    """Of this installation; the commit is empty where the code is no git checkout."""
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())["project"]
    return {
        "prefine": project["version"],
        "commit": commit(),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "database": connection.vendor,
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


@functools.cache
def commit() -> str:
    command = ["git", "-C", str(settings.BASE_DIR), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
