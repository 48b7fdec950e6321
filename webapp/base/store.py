"""The one store of files: clips and posters, files of problems, what trainings leave, zips of exports and imports.

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
"""One part of a key: no hidden file, no `..`."""
BESIDE_MEDIA = ("runs", "exports", "imports")
"""The first parts of keys that lie in the data folder itself; all others lie in its folder `media`."""
TRUSTED_PARTS = 2
"""Deeper in, programs with generated code write: links there are not followed."""


class Source(Protocol):
    """A file that is read from its place to its end."""

    def read(self, size: int = ..., /) -> bytes: ...


class LocalStore:
    """The store in the data folder. Missing keys raise FileNotFoundError, and keys that are no keys ValueError."""

    def publish(self, key: str, source: Path | bytes | Source) -> None:
        """Put a file under this key, in place of an older one: as a whole or not at all. A path's file is linked where
        the disk allows it, so do not write into it afterwards; replace it.
        """
        target = self._path(key)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
        try:
            _write(part, source)
            part.replace(target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise

    def fetch(self, key: str, target: Path) -> None:
        """Copy the file to this path, as a whole or not at all. The copy may be written to."""
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
        """The file, to be read."""
        return self._found(key)[0].open("rb")

    def open_range(self, key: str, start: int, length: int) -> BinaryIO:
        """The file from this byte on, of which the caller reads no more than this length."""
        file = self.open(key)
        file.seek(start)
        return file

    @contextmanager
    def as_file(self, key: str) -> Iterator[Path]:
        """A path where the file can be read, for programs that take paths."""
        yield self._found(key)[0]

    def size(self, key: str) -> int | None:
        """Its bytes; None where there is no such file."""
        try:
            return self._found(key)[1]
        except FileNotFoundError:
            return None

    def keys(self, folder: str) -> list[str]:
        """Every file in there, however deep."""
        root, found = self._path(folder), list[str]()
        for here, _, files in os.walk(root):
            inside = Path(here).relative_to(root).as_posix()
            found += [f"{folder}/{name}" if inside == "." else f"{folder}/{inside}/{name}" for name in files]
        return sorted(key for key in found if NAME.fullmatch(key.rpartition("/")[2]) and self.size(key) is not None)

    def names(self, folder: str) -> list[str]:
        """Files and folders directly in there. The empty name stands for the folder of clips, votes and problems."""
        place = self._path(folder) if folder else self._media()
        return sorted(path.name for path in place.iterdir() if NAME.fullmatch(path.name)) if place.is_dir() else []

    def delete(self, key: str) -> None:
        """No error where there is no such file."""
        self._path(key).unlink(missing_ok=True)

    def delete_folder(self, folder: str) -> None:
        """Delete everything in there. What cannot be deleted now stays."""
        shutil.rmtree(self._path(folder), ignore_errors=True)

    def age(self, name: str) -> float | None:
        """Seconds since a file, or a folder's newest entry, was put there; None where it is gone."""
        try:
            return time.time() - self._path(name).lstat().st_mtime
        except FileNotFoundError:
            return None

    def delete_old(self, name: str, seconds: float) -> None:
        """Delete a file or folder that is older, also where another process puts a new file there meanwhile: that one
        stays.
        """
        path = self._path(name)
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
        """Delete what a process that was killed more than this long ago was publishing."""
        parts = list(self._media().glob("*/.*.part"))
        for folder in BESIDE_MEDIA:
            parts += self._path(folder).glob(".*.part")
        for part in parts:
            with suppress(OSError):
                if time.time() - part.lstat().st_mtime > seconds:
                    part.unlink()

    def is_at(self, folder: str, path: Path) -> bool:
        """Whether the store keeps this folder at this path: what is written there is published thereby."""
        return self._path(folder).resolve() == path.resolve()

    def _path(self, key: str) -> Path:
        parts = key.split("/")
        if not all(NAME.fullmatch(part) for part in parts):
            raise ValueError(f"{key!r} is no key of the store")
        root = Path(settings.DATA_DIR) if parts[0] in BESIDE_MEDIA else self._media()
        path = root / key
        if len(parts) > TRUSTED_PARTS:
            trusted = root.joinpath(*parts[:TRUSTED_PARTS]).resolve()
            if path.resolve() != trusted.joinpath(*parts[TRUSTED_PARTS:]):
                raise FileNotFoundError(f"{key} is a link, or in a folder that is one")
        return path

    def _media(self) -> Path:
        return Path(settings.DATA_DIR) / "media"

    def _found(self, key: str) -> tuple[Path, int]:
        """The file and its size."""
        path = self._path(key)
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
        """Leads nowhere: files are served by views of their own. Django's widgets ask whether there is one."""
        return "#"
