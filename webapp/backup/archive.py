"""The file of a backup: a zip with the database, the keys, the store's files, and a list of them with checksums."""

from __future__ import annotations

import hashlib
import json
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from webapp.backup.databases import Failed

MANIFEST = "manifest.json"
FORMAT = 1
STORE, KEYS = "store/", "keys/"
CHUNK = 1 << 20
TELL_SECONDS = 2.0


class Progress:
    """Says now and then how much is done, and how long the rest takes."""

    def __init__(self, what: str, total: int, tell: Callable[[str], None]) -> None:
        self.what, self.total, self.tell = what, total, tell
        self.done, self.began = 0, time.monotonic()
        self.told = self.began

    def add(self, count: int) -> None:
        self.done += count
        now = time.monotonic()
        if now - self.told < TELL_SECONDS:
            return
        self.told = now
        left = (now - self.began) * max(0, self.total - self.done) / max(1, self.done)
        self.tell(f"{self.what}: {describe_size(self.done)} of {describe_size(self.total)}, {describe_time(left)} left")


def describe_size(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.{0 if unit == 'bytes' else 1}f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def describe_time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


class Writer:
    """Writes files into a backup, and at the end the list of them."""

    def __init__(self, file: BinaryIO, progress: Progress) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)  # films do not shrink
        self._progress = progress
        self.files: dict[str, dict[str, Any]] = {}

    def add(self, name: str, source: BinaryIO, compress: bool = False) -> None:
        info = zipfile.ZipInfo(name, time.gmtime()[:6])
        info.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
        digest, size = hashlib.sha256(), 0
        with self._zip.open(info, "w", force_zip64=True) as target:
            while chunk := source.read(CHUNK):
                target.write(chunk)
                digest.update(chunk)
                size += len(chunk)
                self._progress.add(len(chunk))
        self.files[name] = {"size": size, "sha256": digest.hexdigest()}

    def finish(self, facts: dict[str, Any]) -> None:
        manifest = {"format": FORMAT, **facts, "files": self.files}
        self._zip.writestr(MANIFEST, json.dumps(manifest, indent=1), zipfile.ZIP_DEFLATED)
        self._zip.close()


class Reader:
    """A backup that is read. Raises Failed when the file is none, or not whole."""

    def __init__(self, path: Path) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
            self.manifest = json.loads(self._zip.read(MANIFEST))
            self.files: dict[str, dict[str, Any]] = self.manifest["files"]
        except (OSError, zipfile.BadZipFile, KeyError, ValueError) as error:
            raise Failed(f"{path} is no backup of Prefine, or not whole: {error}") from error
        if self.manifest.get("format") != FORMAT:
            raise Failed(
                f"{path} was written by a newer Prefine ({self.manifest.get('version')}): restore with that one."
            )

    @property
    def size(self) -> int:
        return sum(int(entry["size"]) for entry in self.files.values())

    def open(self, name: str) -> BinaryIO:
        return self._zip.open(name)  # type: ignore[return-value]

    def read(self, name: str) -> bytes:
        return self._zip.read(name)

    def list_keys(self) -> Iterator[str]:
        """The keys of the store's files."""
        return (name.removeprefix(STORE) for name in self.files if name.startswith(STORE))

    def verify(self, progress: Progress) -> None:
        """Read everything and compare checksums. Raises Failed at the first file that differs."""
        for name, known in self.files.items():
            digest = hashlib.sha256()
            try:
                with self.open(name) as file:
                    while chunk := file.read(CHUNK):
                        digest.update(chunk)
                        progress.add(len(chunk))
            except (KeyError, zipfile.BadZipFile, OSError, EOFError) as error:
                raise Failed(f"the backup is damaged: {name}: {error}") from error
            if digest.hexdigest() != known["sha256"]:
                raise Failed(f"the backup is damaged: {name} has another checksum")
