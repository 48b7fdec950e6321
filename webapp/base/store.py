"""The store of all files that another process may need: clips, files of problems and votes, runs, exports, imports.

A key is a path of plain names, such as `clips/<uuid>.mp4`. No other module joins a path to the store's folder.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import Storage
from django.utils.deconstruct import deconstructible

NAME = re.compile(r"(?!\.)[^/\\\0]+")
"""One part of a key; neither hidden nor `..`."""
BESIDE_MEDIA = ("runs", "exports", "imports")
"""Top folders that lie in the data folder itself; all others lie in its folder `media`."""
TRUSTED_PARTS = 2
"""Below this depth generated code may write, so links there are not followed."""


class Source(Protocol):
    """A file that is read from its current position to its end."""

    def read(self, size: int = ..., /) -> bytes: ...


class LocalStore:
    """The store in the data folder. Missing keys raise FileNotFoundError, invalid ones ValueError."""

    def publish(self, key: str, source: Path | bytes | Source) -> None:
        """Write or replace the file of this key atomically. A source path is hard-linked if possible, so do not write
        into that file afterwards; replace it.
        """
        target = self._get_path(key)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
        try:
            _write(part, source)
            part.replace(target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise

    def fetch(self, key: str, target: Path) -> None:
        """Copy the file to this path atomically. The copy may be written to."""
        with self.open(key) as file:
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
            try:
                with part.open("xb") as out:
                    shutil.copyfileobj(file, out)
                part.replace(target)
            except BaseException:
                part.unlink(missing_ok=True)
                raise

    def open(self, key: str) -> BinaryIO:
        """The file, opened for reading."""
        return self._find_file(key)[0].open("rb")

    def open_range(self, key: str, start: int, length: int) -> BinaryIO:
        """The file, opened at this byte; the caller reads at most `length` bytes."""
        file = self.open(key)
        file.seek(start)
        return file

    @contextmanager
    def as_file(self, key: str) -> Iterator[Path]:
        """A path to read the file from, for programs that need one."""
        yield self._find_file(key)[0]

    def size(self, key: str) -> int | None:
        """Size in bytes; None if there is no such file."""
        try:
            return self._find_file(key)[1]
        except FileNotFoundError:
            return None

    def keys(self, folder: str) -> list[str]:
        """All files in the folder and its subfolders."""
        root, found = self._get_path(folder), list[str]()
        for here, _, files in os.walk(root):
            inside = Path(here).relative_to(root).as_posix()
            found += [f"{folder}/{name}" if inside == "." else f"{folder}/{inside}/{name}" for name in files]
        return sorted(key for key in found if NAME.fullmatch(key.rpartition("/")[2]) and self.size(key) is not None)

    def names(self, folder: str) -> list[str]:
        """Files and folders directly in the folder. The empty name is the folder of clips, votes and problems."""
        place = self._get_path(folder) if folder else self._get_media()
        return sorted(path.name for path in place.iterdir() if NAME.fullmatch(path.name)) if place.is_dir() else []

    def delete(self, key: str) -> None:
        """Delete the file, if there is one."""
        self._get_path(key).unlink(missing_ok=True)

    def delete_folder(self, folder: str) -> None:
        """Delete the folder; files that cannot be deleted stay."""
        shutil.rmtree(self._get_path(folder), ignore_errors=True)

    def age(self, name: str) -> float | None:
        """Seconds since the file changed, or an entry of the folder was added; None if it is gone."""
        try:
            return time.time() - self._get_path(name).lstat().st_mtime
        except FileNotFoundError:
            return None

    def delete_old(self, name: str, seconds: float) -> None:
        """Delete a file or folder that is older than this. A file that another process puts there meanwhile
        stays.
        """
        path = self._get_path(name)
        if path.is_dir() and not path.is_symlink():
            self.delete_folder(name)
            return
        aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        with suppress(OSError):
            path.rename(aside)
            if time.time() - aside.lstat().st_mtime > seconds:
                aside.unlink()
            else:
                aside.rename(path)

    def delete_unfinished(self, seconds: float) -> None:
        """Delete parts of files older than this, left by processes that were killed while publishing."""
        parts = list(self._get_media().glob("*/.*.part"))
        for folder in BESIDE_MEDIA:
            parts += self._get_path(folder).glob(".*.part")
        for part in parts:
            with suppress(OSError):
                if time.time() - part.lstat().st_mtime > seconds:
                    part.unlink()

    def is_at(self, folder: str, path: Path) -> bool:
        """Whether the store's folder is at this path, so that writing there is publishing."""
        return self._get_path(folder).resolve() == path.resolve()

    def _get_path(self, key: str) -> Path:
        parts = key.split("/")
        if not all(NAME.fullmatch(part) for part in parts):
            raise ValueError(f"{key!r} is no key of the store")
        root = Path(settings.DATA_DIR) if parts[0] in BESIDE_MEDIA else self._get_media()
        path = root / key
        if len(parts) > TRUSTED_PARTS:
            trusted = root.joinpath(*parts[:TRUSTED_PARTS]).resolve()
            if path.resolve() != trusted.joinpath(*parts[TRUSTED_PARTS:]):
                raise FileNotFoundError(f"{key} is a link, or in a folder that is one")
        return path

    def _get_media(self) -> Path:
        return Path(settings.DATA_DIR) / "media"

    def _find_file(self, key: str) -> tuple[Path, int]:
        """The file and its size."""
        path = self._get_path(key)
        try:
            found = path.stat()
        except NotADirectoryError:
            found = None
        if found is None or not stat.S_ISREG(found.st_mode):
            raise FileNotFoundError(f"the store has no file {key}")
        return path, found.st_size


def _write(part: Path, source: Path | bytes | Source) -> None:
    """Write the source and wait until the disk has it."""
    if isinstance(source, Path):
        _link(source, part)
    else:
        with part.open("xb") as out:
            if isinstance(source, bytes):
                out.write(source)
            else:
                shutil.copyfileobj(source, out)
    with part.open("rb") as written:
        os.fsync(written.fileno())


def _link(source: Path, part: Path) -> None:
    if source.is_symlink() or not source.is_file():
        raise FileNotFoundError(f"{source} is no file")
    try:
        os.link(source, part, follow_symlinks=False)
    except OSError:  # another disk, or one without links
        shutil.copyfile(source, part, follow_symlinks=False)


store = LocalStore()


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
