"""Small ZIP archives, read and written in memory."""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from collections.abc import Mapping

DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
    *(OSError, EOFError, RuntimeError, NotImplementedError),
)
"""What reading a damaged, protected or unusual archive raises; of bzip2 an OSError."""


def unpack(name: str, data: bytes, most_files: int, most_bytes: int) -> dict[str, bytes]:
    """The files of an archive by their paths. Raises ValueError with the reason where it cannot be read."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(entries) > most_files or sum(entry.file_size for entry in entries) > most_bytes:
                raise ValueError(f"the archive has more than {most_files} files or {most_bytes >> 20} MB")
            return {entry.filename: archive.read(entry) for entry in entries}
    except DAMAGED as error:
        raise ValueError(f"{name} is no readable ZIP archive: {error}") from error


def pack(files: Mapping[str, bytes]) -> bytes:
    """The files as an archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()
