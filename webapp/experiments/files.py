"""Files follow their rows: what is deleted in the database leaves the disk once that is committed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.storage import default_storage
from django.db.models.signals import post_delete
from django.dispatch import receiver

from webapp.base.on_commit import run_after_commit
from webapp.experiments.models import Clip, Experiment


@receiver(post_delete, sender=Clip)
def forget_clip(instance: Clip, **_: Any) -> None:
    for name in (instance.video, instance.poster):
        run_after_commit(default_storage.delete, name)


@receiver(post_delete, sender=Experiment)
def forget_runs(instance: Experiment, **_: Any) -> None:
    for folder in (Path(settings.DATA_DIR) / "runs").glob(f"{instance.public_id}-*"):
        run_after_commit(shutil.rmtree, folder, ignore_errors=True)
