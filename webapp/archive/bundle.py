"""A zip whose bytes depend on its contents alone, with a manifest and the checksum of every file."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

from webapp.base.csv_cells import format_line

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every file: the earliest that a zip can hold."""
CHUNK = 1 << 20
STORED = (".mp4", ".jpg", ".pt")
"""Files of these kinds are compressed already."""
MANIFEST, SUMS = "manifest.json", "SHA256SUMS"
CountBytes = Callable[[int], None]
"""Called with the number of bytes that were just read."""
Report = Callable[[float, str], None]
"""Called with the fraction that is done, and what is being done."""


def ignore_progress(fraction: float, words: str) -> None:
    """Report no progress."""


def compute_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Member:
    name: str
    size: int
    sha256: str


class Sink:
    """One file of the zip while it is written."""

    def __init__(self, file: Any) -> None:
        self._file, self._digest, self.size = file, hashlib.sha256(), 0

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self._digest.update(data)
        self.size += len(data)

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


class Bundle:
    """Writes the zip file by file, all in one folder; `close` adds manifest and checksums, with names inside it."""

    def __init__(self, path: Path, folder: str) -> None:
        self._folder = folder
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, allowZip64=True, compresslevel=6)
        self.members: list[Member] = []

    @contextmanager
    def open_file(self, name: str) -> Iterator[Sink]:
        info = zipfile.ZipInfo(f"{self._folder}/{name}", EPOCH)
        info.compress_type = zipfile.ZIP_STORED if name.endswith(STORED) else zipfile.ZIP_DEFLATED
        info.external_attr, info.create_system = 0o644 << 16, 3
        with self._zip.open(info, "w", force_zip64=True) as file:
            sink = Sink(file)
            yield sink
        self.members.append(Member(name, sink.size, sink.sha256))

    def write_text(self, name: str, content: str) -> None:
        with self.open_file(name) as sink:
            sink.write(content.encode())

    def write_json(self, name: str, content: Any) -> None:
        self.write_text(name, json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n")

    def copy_file(self, name: str, file: BinaryIO, count: CountBytes) -> None:
        with self.open_file(name) as sink:
            while data := file.read(CHUNK):
                sink.write(data)
                count(len(data))

    def write_csv(self, name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        with self.open_file(name) as sink:
            sink.write(format_line(header))
            for row in rows:
                sink.write(format_line(row))

    def close(self, about: dict[str, Any]) -> None:
        """Finish with the manifest, which includes `about`, and SHA256SUMS, which `sha256sum -c` reads."""
        files = [
            {"name": m.name, "size": m.size, "sha256": m.sha256} for m in sorted(self.members, key=lambda m: m.name)
        ]
        self.write_json(MANIFEST, {**about, "files": files})
        self.write_text(SUMS, "".join(f"{m.sha256}  {m.name}\n" for m in sorted(self.members, key=lambda m: m.name)))
        self._zip.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()


class JsonRows:
    """A JSON array with one object per line, written row by row."""

    def __init__(self, out: Sink | BinaryIO) -> None:
        self._out, self._first = out, True

    def add(self, row: dict[str, Any]) -> None:
        self._out.write(("[\n" if self._first else ",\n").encode())
        self._out.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode())
        self._first = False

    def close(self) -> None:
        self._out.write(b"[]\n" if self._first else b"\n]\n")
