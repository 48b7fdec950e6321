"""The versions of Prefine, Python and packages that made the data."""

from __future__ import annotations

import platform
from typing import Any

from django.conf import settings
from django.db import connection

from trainer.machine import find_version
from webapp.experiments import provenance

PACKAGES = (
    *("Django", "celery", "channels", "scipy", "numpy", "torch", "mujoco", "mujoco-warp", "openai", "imageio-ffmpeg"),
    *("ffmpeg-python", "krippendorff"),
)


def list_versions() -> dict[str, Any]:
    """The versions of this installation; the commit is empty where the code is no git checkout."""
    return {
        "prefine": settings.VERSION,
        "commit": provenance.read_commit(),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "database": connection.vendor,
        "packages": {name: version for name in PACKAGES if (version := find_version(name))},
    }
