"""Files without a row, which a worker leaves when it writes one just after its experiment was deleted."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator

from django.db.models import Q

from webapp.archive.models import Export, Import
from webapp.base import scratch
from webapp.base.store import store
from webapp.experiments import run_folder
from webapp.experiments.models import Clip, Experiment, Segment
from webapp.problems import missing_files
from webapp.problems.models import Attachment
from webapp.votes.models import Pair

STAGING = "import-"
"""The prefix of temporary folders and files of imports by earlier versions."""
OLD_SECONDS = 3600
"""Younger files may belong to a row that is about to be committed."""
OLD_COPY_SECONDS = 24 * 3600
"""The same for the films of a vote, which are all copied before it opens: many take longer than an hour."""
ID = r"([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})"
FILE = re.compile(rf"(?:{STAGING})?{ID}\.(?:mp4|jpg|zip|part)")
ATTACHED = re.compile(rf"(?:{STAGING})?{ID}(?:\.[^.]{{1,7}})?")
"""Names that webapp.problems.models.attachment_path makes."""


def delete_orphans(dry_run: bool = False) -> list[str]:
    """Delete these files and return their names; with `dry_run` delete nothing."""
    found = []
    for name in _find_orphans():  # deleted as soon as found: an import that is retried may write it again
        age, old = store.age(name), OLD_COPY_SECONDS if name.startswith("votes/") else OLD_SECONDS
        if age is not None and age > old:
            found.append(name)
            if not dry_run:  # a file that cannot be deleted now is tried again later
                store.delete_old(name, old)
    if not dry_run:
        store.delete_unfinished(OLD_SECONDS)
        scratch.delete_old_temporary(OLD_SECONDS)
        run_folder.delete_stale()
    return found


def _find_orphans() -> Iterator[str]:
    yield from _find_without_row(
        "clips", lambda name: any(model._default_manager.filter(name=name).exists() for model in (Clip, Segment))
    )
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
    # uploaded sets of problems whose missing files were never added
    yield from _find_without_row(missing_files.FOLDER, lambda name: False)
    yield from (name for name in store.names("") if name.startswith(STAGING))


def _find_without_row(
    folder: str, known: Callable[[uuid.UUID], bool], pattern: re.Pattern[str] = FILE
) -> Iterator[str]:
    """Files and folders of this folder whose name is the id of a row that does not exist."""
    for name in store.names(folder):
        match = pattern.fullmatch(name)
        if match and not known(uuid.UUID(match[1])):
            yield f"{folder}/{name}"
