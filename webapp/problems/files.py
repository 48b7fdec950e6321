"""Files of problems: delete them with their rows; send them to browsers."""

from __future__ import annotations

from typing import Any

from django.db.models.signals import post_delete, pre_save
from django.dispatch import receiver
from django.http import Http404, HttpResponse
from django.utils.http import content_disposition_header

from webapp.base.on_commit import run_after_commit
from webapp.base.store import store
from webapp.problems.models import Attachment


@receiver(post_delete, sender=Attachment)
def delete_file(instance: Attachment, **_: Any) -> None:
    _delete_after_commit(instance.file.name)


@receiver(pre_save, sender=Attachment)
def delete_replaced_file(instance: Attachment, **_: Any) -> None:
    before = Attachment.objects.filter(pk=instance.pk).values_list("file", flat=True).first()
    if before != instance.file.name:
        _delete_after_commit(before)


def _delete_after_commit(name: str | None) -> None:
    if name:
        run_after_commit(store.delete, name)


def respond_with_file(row: Attachment) -> HttpResponse:
    """Pictures are shown; all other files, which may hold anything, are downloaded. Raises Http404."""
    try:
        with row.file.open("rb") as file:
            content = file.read()
    except FileNotFoundError as error:
        raise Http404 from error
    named = content_disposition_header(not row.is_picture, row.name)
    return HttpResponse(content, content_type=row.content_type, headers={"Content-Disposition": named})
