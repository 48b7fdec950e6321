"""The store of all files that another process may need: clips, files of problems and votes, runs, exports, imports.

It is the data folder, or the bucket that PREFINE_STORE_URL names.
"""

from __future__ import annotations

from typing import Any, cast

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import Storage
from django.utils.deconstruct import deconstructible
from django.utils.functional import SimpleLazyObject

from webapp.base.local_store import LocalStore
from webapp.base.store_interface import Store


def open_store() -> Store:
    if settings.STORE is None:
        return LocalStore()
    from webapp.base.s3_store import S3Store  # not above: boto3 is slow to import, and a local store does without

    return S3Store(settings.STORE)


store = cast(Store, cast(Any, SimpleLazyObject(open_store)))


@deconstructible
class FieldStorage(Storage):
    """The store as Django's file fields use it: a file's name is its key."""

    def _open(self, name: str, mode: str = "rb") -> File:
        return File(store.open(name), name)

    def _save(self, name: str, content: File) -> str:
        content.seek(0)
        store.publish(name, content)
        return name

    def delete(self, name: str) -> None:
        store.delete(name)

    def exists(self, name: str) -> bool:
        return store.size(name) is not None

    def size(self, name: str) -> int:
        size = store.size(name)
        if size is None:
            raise FileNotFoundError(f"the store has no file {name}")
        return size

    def url(self, name: str | None) -> str:
        """A dummy that Django's widgets need: views serve the files."""
        return "#"
