"""Files whose rows are gone: a worker that was about to write one when its experiment was deleted leaves it behind."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator

from django.db.models import Q

from webapp.archive.models import Export, Import
from webapp.base import scratch
from webapp.base.store import store
from webapp.experiments import run_folder
from webapp.experiments.models import Clip, Experiment
from webapp.problems.models import Attachment
from webapp.votes.models import Pair

STAGING = "import-"
"""How a folder began in which an import of an earlier version unpacked films, and a file that was on its way out."""
OLD_SECONDS = 3600
"""Younger ones may belong to a row that is about to be committed."""
ID = r"([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})"
FILE = re.compile(rf"(?:{STAGING})?{ID}\.(?:mp4|jpg|zip|part)")
ATTACHED = re.compile(rf"(?:{STAGING})?{ID}(?:\.[^.]{{1,7}})?")
"""webapp.problems.models.attachment_path."""


def delete_orphans(dry_run: bool = False) -> list[str]:
    """Delete them (or only say which)."""
    found = []
    for (
        name
    ) in _find_orphans():  # each goes as soon as it is found: an import that is tried again may put it there again
        age = store.age(name)
        if age is not None and age > OLD_SECONDS:
            found.append(name)
            if not dry_run:  # what cannot be deleted now is looked at again
                store.delete_old(name, OLD_SECONDS)
    if not dry_run:
        store.delete_unfinished(OLD_SECONDS)
        scratch.delete_old_temporary(OLD_SECONDS)
        run_folder.delete_stale()
    return found


def _find_orphans() -> Iterator[str]:
    yield from _find_without_row("clips", lambda name: Clip.objects.filter(name=name).exists())
    yield from _find_without_row(
        "votes", lambda name: Pair.objects.filter(Q(first_file=name) | Q(second_file=name)).exists()
    )
    yield from _find_without_row(
        "problems",
        lambda name: Attachment.objects.filter(file__startswith=f"problems/{name}").exists(),
        ATTACHED,
    )
    yield from _find_without_row(
        "runs", lambda name: Experiment.objects.filter(public_id=name).exists(), run_folder.FOLDER
    )
    yield from _find_without_row("exports", lambda name: Export.objects.filter(public_id=name).exists())
    yield from _find_without_row("imports", lambda name: Import.objects.filter(public_id=name).exists())
    yield from (name for name in store.names("") if name.startswith(STAGING))


def _find_without_row(
    folder: str, known: Callable[[uuid.UUID], bool], pattern: re.Pattern[str] = FILE
) -> Iterator[str]:
    """Files and folders in there that are named after a row which is not there."""
    for name in store.names(folder):
        named = pattern.fullmatch(name)
        if named and not known(uuid.UUID(named[1])):
            yield f"{folder}/{name}"
