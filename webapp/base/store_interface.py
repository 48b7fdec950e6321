"""What every store of files can do, and how it fails."""

from __future__ import annotations

import errno
import re
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

NAME = re.compile(r"(?!\.)[^/\\\0]+")
"""One part of a key; neither hidden nor `..`."""
POSTGRES_FULL = "53100"


class StoreError(OSError):
    """The store did not do what it was asked for; the text says why, and holds no secret."""

    def __init__(self, text: str, permanent: bool = False) -> None:
        super().__init__(text)
        self.permanent = permanent
        """Whether trying again is useless until a person has changed something."""


class DiskFull(StoreError):
    """A disk of this machine has no space left: what needs it waits until somebody makes some."""


def is_disk_full(error: BaseException | None) -> bool:
    """Whether this error says so: ours, the system's or the database's."""
    if isinstance(error, OSError):
        return isinstance(error, DiskFull) or error.errno in (errno.ENOSPC, errno.EDQUOT)
    said = error.__cause__ if error else None  # what Django got from the database's driver
    return getattr(said, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL or getattr(said, "sqlstate", "") == POSTGRES_FULL


@contextmanager
def explain_full_disk(place: Path) -> Iterator[None]:
    """Turn the system's error of a full disk into the store's."""
    try:
        yield
    except OSError as error:
        if not is_disk_full(error):
            raise
        raise DiskFull(f"no space is left on the disk of {place}") from error


class Source(Protocol):
    """A file that is read from its current position to its end."""

    def read(self, size: int = ..., /) -> bytes: ...


class Store(Protocol):
    """A key is a path of plain names, such as `clips/<uuid>.mp4`. A missing key raises FileNotFoundError, an invalid
    one ValueError, a store that is away or refuses StoreError, a full disk DiskFull.
    """

    def publish(self, key: str, source: Path | bytes | Source) -> None:
        """Write or replace the file of this key atomically. Do not write into a source path afterwards: the store may
        have linked it; replace it.
        """

    def fetch(self, key: str, target: Path) -> None:
        """Copy the file to this path atomically. The copy may be written to."""

    def open(self, key: str) -> BinaryIO:
        """The file, opened for reading, which can be sought."""

    def open_range(self, key: str, start: int, length: int) -> BinaryIO:
        """The file, opened at this byte; the caller reads at most `length` bytes."""

    def as_file(self, key: str) -> AbstractContextManager[Path]:
        """A path to read the file from, for programs that need one."""

    def size(self, key: str) -> int | None:
        """Size in bytes; None if there is no such file."""

    def keys(self, folder: str) -> list[str]:
        """All files in the folder and its subfolders, sorted."""

    def names(self, folder: str) -> list[str]:
        """Files and folders directly in the folder, sorted; perhaps also a folder that was just emptied. The empty
        name is the folder of clips, votes and problems.
        """

    def delete(self, key: str) -> None:
        """Delete the file, if there is one."""

    def delete_folder(self, folder: str) -> None:
        """Delete the folder with everything in it."""

    def age(self, name: str) -> float | None:
        """Seconds since the file changed, or a file of the folder was added; None if it is gone."""

    def delete_old(self, name: str, seconds: float) -> None:
        """Delete a file or folder that is older than this."""

    def delete_unfinished(self, seconds: float) -> None:
        """Delete what processes that were killed while publishing left behind, if it is older than this."""

    def is_at(self, folder: str, path: Path) -> bool:
        """Whether the store's folder is at this path, so that writing there is publishing."""

    def check(self) -> None:
        """Write, read and delete a file. Raises StoreError or OSError, which say what is wrong."""


def split_key(key: str) -> list[str]:
    """The names in a key. Raises ValueError if it is none."""
    parts = key.split("/")
    if not all(NAME.fullmatch(part) for part in parts):
        raise ValueError(f"{key!r} is no key of the store")
    return parts


def save_copy(file: BinaryIO, target: Path) -> None:
    """Write the rest of this file to this path, atomically."""
    part = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
    try:
        with explain_full_disk(target.parent):
            target.parent.mkdir(parents=True, exist_ok=True)
            with part.open("xb") as out:
                shutil.copyfileobj(file, out)
            part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def open_source(path: Path) -> Iterator[BinaryIO]:
    """A file to publish. Raises FileNotFoundError for a link or anything else that is no file."""
    if path.is_symlink() or not path.is_file():
        raise FileNotFoundError(f"{path} is no file")
    with path.open("rb") as file:
        yield file
