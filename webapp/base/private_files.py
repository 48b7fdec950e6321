"""Keeps other users of the machine out of what Prefine writes."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

READABLE = 0o066
"""Others may read or write. A folder that they may only pass through (0711) is left as it is."""


def hide_from_others(*paths: Path) -> None:
    """Take the rights of others from these files and folders, if they are there and ours."""
    for path in paths:
        with suppress(FileNotFoundError, PermissionError):
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & READABLE:
                path.chmod(mode & ~0o077)


def write_private_files() -> None:
    """What this process and its children write is for this user alone."""
    os.umask(0o077)
