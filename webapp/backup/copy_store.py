"""Copies the files of one store into another: of a data folder into a bucket, or back."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from webapp.backup.archive import CHUNK, Progress, describe_size
from webapp.backup.create import list_keys
from webapp.backup.databases import Failed
from webapp.base.store_interface import Store

REWRITTEN = ("runs/", "problem_sets/")
"""Folders with files that change under their names. All others have random names, so one of equal size is the same."""


@dataclass
class Copied:
    """What a copy did."""

    there: int = 0
    """Files that the target had."""
    files: int = 0
    bytes: int = 0
    gone: int = 0
    """Files that were deleted while it copied."""


def copy_files(source: Store, target: Store, tell: Callable[[str], None]) -> Copied:
    """Copy what the target lacks, and read each copy back. It may be stopped at any time and begun again.

    Raises StoreError or OSError where a store fails, Failed where a copy differs.
    """
    target.check()
    sizes = {key: size for key in list_keys(source) if (size := source.size(key)) is not None}
    wanted = {key: size for key, size in sizes.items() if key.startswith(REWRITTEN) or target.size(key) != size}
    done = Copied(there=len(sizes) - len(wanted))
    tell(f"{len(sizes)} files, {describe_size(sum(sizes.values()))}; {done.there} of them are there already.")
    progress = Progress("Copying", sum(wanted.values()), tell)
    for key, size in sorted(wanted.items()):
        try:
            _copy_file(source, target, key, size, done)
        except FileNotFoundError:
            done.gone += 1
        progress.add(size)
    return done


def _copy_file(source: Store, target: Store, key: str, size: int, done: Copied) -> None:
    if target.size(key) == size and _compute_digest(source, key) == _compute_digest(target, key):
        done.there += 1
        return
    with source.open(key) as file:
        reader = DigestReader(file)
        target.publish(key, reader)
    if _compute_digest(target, key) != reader.digest.digest():
        raise Failed(f"{key} is not the same after it was copied: begin again")
    done.files += 1
    done.bytes += reader.count


class DigestReader:
    """A file whose hash and length are known once it has been read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.digest, self.count = file, hashlib.sha256(), 0

    def read(self, size: int = -1, /) -> bytes:
        data = self._file.read(size)
        self.digest.update(data)
        self.count += len(data)
        return data


def _compute_digest(store: Store, key: str) -> bytes:
    digest = hashlib.sha256()
    with store.open(key) as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.digest()
