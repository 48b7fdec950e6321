"""The store in the data folder. No other module joins a path to its folder."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from django.conf import settings

from webapp.base.store_interface import NAME, Source, explain_full_disk, save_copy, split_key

BESIDE_MEDIA = ("runs", "exports", "imports")
"""Top folders that lie in the data folder itself; all others lie in its folder `media`."""
TRUSTED_PARTS = 2
"""Below this depth generated code may write, so links there are not followed."""


class LocalStore:
    """See webapp.base.store_interface.Store."""

    def publish(self, key: str, source: Path | bytes | Source) -> None:
        target = self._get_path(key)
        part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
        try:
            with explain_full_disk(target.parent):
                target.parent.mkdir(parents=True, exist_ok=True)
                _write(part, source)
                part.replace(target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise

    def fetch(self, key: str, target: Path) -> None:
        with self.open(key) as file:
            save_copy(file, target)

    def open(self, key: str) -> BinaryIO:
        return self._find_file(key)[0].open("rb")

    def open_range(self, key: str, start: int, length: int) -> BinaryIO:
        file = self.open(key)
        file.seek(start)
        return file

    @contextmanager
    def as_file(self, key: str) -> Iterator[Path]:
        yield self._find_file(key)[0]

    def size(self, key: str) -> int | None:
        try:
            return self._find_file(key)[1]
        except FileNotFoundError:
            return None

    def keys(self, folder: str) -> list[str]:
        root, found = self._get_path(folder), list[str]()
        for here, _, files in os.walk(root):
            inside = Path(here).relative_to(root).as_posix()
            found += [f"{folder}/{name}" if inside == "." else f"{folder}/{inside}/{name}" for name in files]
        return sorted(key for key in found if NAME.fullmatch(key.rpartition("/")[2]) and self.size(key) is not None)

    def names(self, folder: str) -> list[str]:
        place = self._get_path(folder) if folder else self._get_media()
        return sorted(path.name for path in place.iterdir() if NAME.fullmatch(path.name)) if place.is_dir() else []

    def delete(self, key: str) -> None:
        self._get_path(key).unlink(missing_ok=True)

    def delete_folder(self, folder: str) -> None:
        """Files that cannot be deleted stay."""
        shutil.rmtree(self._get_path(folder), ignore_errors=True)

    def age(self, name: str) -> float | None:
        try:
            return time.time() - self._get_path(name).lstat().st_mtime
        except FileNotFoundError:
            return None

    def delete_old(self, name: str, seconds: float) -> None:
        """A file that another process puts there meanwhile stays."""
        path = self._get_path(name)
        if path.is_dir() and not path.is_symlink():
            if (self.age(name) or 0.0) > seconds:
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
        parts = list(self._get_media().glob("*/.*.part"))
        for folder in BESIDE_MEDIA:
            parts += self._get_path(folder).glob(".*.part")
        for part in parts:
            with suppress(OSError):
                if time.time() - part.lstat().st_mtime > seconds:
                    part.unlink()

    def is_at(self, folder: str, path: Path) -> bool:
        return self._get_path(folder).resolve() == path.resolve()

    def check(self) -> None:
        self._get_media().mkdir(parents=True, exist_ok=True)
        probe = self._get_media() / f".check-{secrets.token_hex(4)}.part"
        try:
            probe.write_bytes(b"x")
        finally:
            probe.unlink(missing_ok=True)

    def _get_path(self, key: str) -> Path:
        parts = split_key(key)
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
        _link_file(source, part)
    else:
        with part.open("xb") as out:
            if isinstance(source, bytes):
                out.write(source)
            else:
                shutil.copyfileobj(source, out)
    with part.open("rb") as written:
        os.fsync(written.fileno())


def _link_file(source: Path, part: Path) -> None:
    if source.is_symlink() or not source.is_file():
        raise FileNotFoundError(f"{source} is no file")
    try:
        os.link(source, part, follow_symlinks=False)
    except OSError:  # another disk, or one without links
        shutil.copyfile(source, part, follow_symlinks=False)
