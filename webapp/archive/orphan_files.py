"""Files whose rows are gone: a worker that was about to write one when its experiment was deleted leaves it behind."""

from __future__ import annotations

import contextlib
import math
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from django.conf import settings
from django.db.models import Q

from webapp.archive.models import Export, Import
from webapp.experiments.models import Clip, Experiment
from webapp.problems.models import Attachment
from webapp.votes.models import Pair

STAGING = "import-"
"""How a folder begins in which an import unpacks films, and a file that is on its way out."""
OLD_SECONDS = 3600
"""Younger ones may belong to a row that is about to be committed."""
ID = r"([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})"
FILE = re.compile(rf"(?:{STAGING})?{ID}\.(?:mp4|jpg|zip|part)")
ATTACHED = re.compile(rf"(?:{STAGING})?{ID}(?:\.[^.]{{1,7}})?")
"""webapp.problems.models.attachment_path."""
RUN = re.compile(ID + r"-\d+(?:-\d+)?(?:\.part)?")
"""Request.run_dir, and a copy on its way there."""


def sweep(dry_run: bool = False) -> list[Path]:
    """Delete them (or only say which)."""
    found = []
    for path in _orphans():  # each goes as soon as it is found: an import that is tried again may put it there again
        if _age(path) > OLD_SECONDS:
            found.append(path)
            if not dry_run:
                _delete(path)
    return found


def _delete(path: Path) -> None:
    """What cannot be deleted, because another reaper was faster or for now, is looked at again."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
        return
    aside = path.with_name(f"{STAGING}{path.name.removeprefix(STAGING)}")
    with contextlib.suppress(OSError):
        path.rename(aside)
        if _age(aside) > OLD_SECONDS:
            aside.unlink()
        else:  # put there since it was looked at
            aside.rename(path)


def _age(path: Path) -> float:
    """Seconds since it was written; none for one that is gone meanwhile."""
    try:
        return time.time() - path.lstat().st_mtime
    except FileNotFoundError:
        return -math.inf


def _orphans() -> Iterator[Path]:
    data, media = Path(settings.DATA_DIR), Path(settings.MEDIA_ROOT)
    yield from _without(media / "clips", lambda name: Clip.objects.filter(name=name).exists())
    yield from _without(
        media / "votes", lambda name: Pair.objects.filter(Q(first_file=name) | Q(second_file=name)).exists()
    )
    yield from _without(
        media / "problems",
        lambda name: Attachment.objects.filter(file__startswith=f"problems/{name}").exists(),
        ATTACHED,
    )
    yield from _without(data / "runs", lambda name: Experiment.objects.filter(public_id=name).exists(), RUN)
    yield from _without(data / "exports", lambda name: Export.objects.filter(public_id=name).exists())
    yield from _without(data / "imports", lambda name: Import.objects.filter(public_id=name).exists())
    yield from media.glob(f"{STAGING}*")


def _without(folder: Path, known: Callable[[uuid.UUID], bool], pattern: re.Pattern[str] = FILE) -> Iterator[Path]:
    """Files and folders in there that are named after a row which is not there."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        named = pattern.fullmatch(path.name)
        if named and not known(uuid.UUID(named[1])):
            yield path
