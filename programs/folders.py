"""The folder of one program: removed when it is done or, where its process was killed, when another begins to judge."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "prefine-program-"
NEW_SECONDS = 60.0
"""A folder may be so young that its lock is still to come."""


@contextmanager
def workplace() -> Iterator[Path]:
    """An empty folder, locked while it is in use: a lock ends with its process, however that ends."""
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name:
        folder = Path(name).resolve()
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield folder
        finally:
            os.close(handle)


def sweep() -> None:
    """Remove what processes that are gone have left behind."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # just removed, somebody else's, or no folder
            continue
        try:
            if time.time() - os.fstat(handle).st_mtime > NEW_SECONDS:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(handle)
