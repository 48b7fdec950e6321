"""Delete the files of deleted rows after the commit."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models.signals import post_delete
from django.dispatch import receiver

from webapp.base.on_commit import run_after_commit
from webapp.base.store import store
from webapp.experiments.models import Clip, Experiment, Segment


@receiver(post_delete, sender=Clip)
@receiver(post_delete, sender=Segment)
def delete_clip_files(instance: Clip | Segment, **_: Any) -> None:
    for name in (instance.video, instance.poster):
        run_after_commit(store.delete, name)


@receiver(post_delete, sender=Experiment)
def delete_run_folders(instance: Experiment, **_: Any) -> None:
    run_after_commit(_delete_runs, instance.public_id)


def _delete_runs(experiment: uuid.UUID) -> None:
    for name in store.names("runs"):
        if name.startswith(f"{experiment}-"):
            store.delete_folder(f"runs/{name}")
