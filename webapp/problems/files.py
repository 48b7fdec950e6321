"""Files follow their rows: what is deleted or replaced in the database leaves the disk once that is committed."""

from __future__ import annotations

from typing import Any

from django.core.files.storage import default_storage
from django.db.models.signals import post_delete, pre_save
from django.dispatch import receiver

from webapp.commits import afterwards
from webapp.problems.models import Attachment


@receiver(post_delete, sender=Attachment)
def forget(instance: Attachment, **_: Any) -> None:
    _delete(instance.file.name)


@receiver(pre_save, sender=Attachment)
def forget_replaced(instance: Attachment, **_: Any) -> None:
    before = Attachment.objects.filter(pk=instance.pk).values_list("file", flat=True).first()
    if before != instance.file.name:
        _delete(before)


def _delete(name: str | None) -> None:
    if name:
        afterwards(default_storage.delete, name)
