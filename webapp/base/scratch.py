"""The scratch folder on this machine's own disk: running trainings and temporary files.

By default it is the folder of runs of a local store, so that a file is in the store as soon as a training writes it.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from django.conf import settings

TEMPORARY = re.compile(r"(?:film|export|import|publish|store)-\w+")


def get_folder() -> Path:
    """PREFINE_SCRATCH, or a folder in the data folder: `runs`, or `scratch` where the store is a bucket."""
    return Path(settings.SCRATCH or settings.DATA_DIR / "runs")


@contextmanager
def make_folder(kind: str) -> Iterator[Path]:
    """A temporary folder. `kind`: film, export, import, publish or store."""
    get_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{kind}-", dir=get_folder()) as path:
        yield Path(path)


def delete_old_temporary(seconds: float) -> None:
    """Delete temporary folders older than this, which killed processes left behind."""
    for path in get_folder().iterdir() if get_folder().is_dir() else ():
        with suppress(FileNotFoundError):
            if TEMPORARY.fullmatch(path.name) and time.time() - path.lstat().st_mtime > seconds:
                shutil.rmtree(path, ignore_errors=True)
