"""Reads an uploaded export. Anybody may have made the file, so everything is checked before it is used."""

from __future__ import annotations

import hashlib
import json
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Self

from webapp.archive.bundle import CHUNK, MANIFEST, SUMS, Member

FORMAT = 2
"""A new column or table needs no new number (row_writer.find_default); one without a default does."""
NEWER = "A newer Prefine wrote it: update this one, then import it again."
KIND = "Prefine study"
MOST_FILES = 200_000
MOST_BYTES = 200 * 2**30
"""Of all unpacked files. Paper-sized clips of a hundred participants are less than a tenth of it."""
MOST_LIST = 64 * 2**20
"""Bytes of the manifest."""
MOST_LINE = 64 * 2**20
"""Bytes of one row. The longest prompts with all their frames are less than a tenth of it."""
MOST_RATIO = 200
"""Unpacked size over packed size of a file of more than a megabyte; text packs to a tenth, a bomb to a thousandth."""
NAME = re.compile(r"[A-Za-z0-9_-]+(?:[./][A-Za-z0-9_-]+)*")
"""No leading slash, no drive, no backslash, no two dots in a row, no empty part."""
MAGIC: dict[str, tuple[int, bytes]] = {
    ".mp4": (4, b"ftyp"),
    **dict.fromkeys((".jpg", ".jpeg"), (0, b"\xff\xd8\xff")),
    ".png": (0, b"\x89PNG\r\n"),
    ".gif": (0, b"GIF8"),
    ".webp": (8, b"WEBP"),
    ".pdf": (0, b"%PDF"),
    **dict.fromkeys((".txt", ".csv", ".md"), (0, b"")),
}
"""The first bytes of files of each ending, and their offset; a browser might run files of other endings. Those of
problems are in webapp/problems/models.py.
"""

UNREADABLE = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError, NotImplementedError)
"""What Python's zip reader raises on damaged files."""


class Refused(Exception):
    """The file is refused; the text says why."""


class Package:
    """A checked export: it has the files that its manifest names, in these sizes.

    Checksums are compared while a file is read, so that nothing is read twice.
    """

    def __init__(self, path: Path) -> None:
        with ExitStack() as unless_harmless:
            try:
                self._file = unless_harmless.enter_context(path.open("rb"))
                self._zip = zipfile.ZipFile(self._file)
            except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
                raise Refused(f"This is no zip file, or a damaged one: {error}.") from error
            self.about, self.members = self._check()
            unless_harmless.pop_all()

    def _check(self) -> tuple[dict[str, Any], dict[str, Member]]:
        infos = self._infos = _remove_top_folder(_list_entries(self._zip))
        if MANIFEST not in infos:
            raise Refused(f"{MANIFEST} is missing: this is no export of a study.")
        about = _parse_json(b"".join(self._read_pieces(infos[MANIFEST], MOST_LIST)), MANIFEST)
        if not isinstance(about, dict) or about.get("kind") != KIND:
            raise Refused(f"{MANIFEST} does not describe an export of a study.")
        number = about.get("format")
        if type(number) is not int or number < 1:
            raise Refused(f"{MANIFEST} names a format that does not exist: {str(number)[:20]!r}.")
        if number > FORMAT:
            raise Refused(f"Its format is {number}, and this Prefine reads {FORMAT} and older ones. {NEWER}")
        members = dict(_parse_members(about))
        missing, extra = set(members) - set(infos), set(infos) - set(members) - {MANIFEST, SUMS}
        if missing or extra:
            names = ", ".join(sorted(missing or extra)[:3])
            raise Refused(f"Files are {'missing' if missing else 'there that its manifest does not name'}: {names}.")
        for name, member in members.items():
            if infos[name].file_size != member.size:
                raise Refused(f"{name} has another size than the manifest says.")
        return about, members

    def list_names(self, folder: str) -> list[str]:
        return sorted(name for name in self.members if name.startswith(f"{folder}/"))

    def read_json(self, name: str, most: int) -> Any:
        return _parse_json(b"".join(self._read(name, most)), name)

    def read_rows(self, name: str) -> Iterator[dict[str, Any]]:
        """The rows of a table, one line each, as the export writes them."""
        for number, line in enumerate(_split_lines(self._read(name, MOST_BYTES), name)):
            if line in (b"[", b"]", b"[]"):
                continue
            row = _parse_json(line.removesuffix(b","), f"{name}, line {number + 1}")
            if not isinstance(row, dict):
                raise Refused(f"{name}, line {number + 1}: not a row.")
            yield row

    def save(self, name: str, target: BinaryIO, count_bytes: Callable[[int], None]) -> None:
        """Unpack a film, a still or a file of a problem, whose first bytes must fit its ending."""
        if Path(name).suffix not in MAGIC:
            raise Refused(f"{name} is of a kind that is not taken.")
        offset, magic = MAGIC[Path(name).suffix]
        first = True
        for data in self._read(name, MOST_BYTES):
            if first and data[offset : offset + len(magic)] != magic:
                raise Refused(f"{name} is not what its name says.")
            first = False
            target.write(data)
            count_bytes(len(data))
        if first:
            raise Refused(f"{name} is empty.")

    def _read(self, name: str, most: int) -> Iterator[bytes]:
        member = self.members.get(name)
        if member is None:
            raise Refused(f"{name} is missing.")
        digest = hashlib.sha256()
        for data in self._read_pieces(self._infos[name], most):
            digest.update(data)
            yield data
        if digest.hexdigest() != member.sha256:
            raise Refused(f"{name} was changed after the export: its checksum differs.")

    def _read_pieces(self, info: zipfile.ZipInfo, most: int) -> Iterator[bytes]:
        """The file's contents, up to the announced and the allowed size: a header may lie about a size."""
        size = 0
        try:
            with self._zip.open(info) as file:
                while data := file.read(CHUNK):
                    size += len(data)
                    if size > min(most, info.file_size):
                        raise Refused(f"{info.filename} is larger than announced, or than {most:,} bytes.")
                    yield data
        except UNREADABLE as error:
            raise Refused(f"{info.filename} cannot be unpacked: {error}.") from error

    def close(self) -> None:
        """Close the file itself: ZipFile.close() leaves it open while a member is half read."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _list_entries(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The zip's files by name. Raises Refused where one of them is dangerous."""
    infos = archive.infolist()
    if len(infos) > MOST_FILES:
        raise Refused(f"It holds {len(infos):,} files; at most {MOST_FILES:,} are taken.")
    if sum(info.file_size for info in infos) > MOST_BYTES:
        raise Refused(f"Unpacked it has more than {MOST_BYTES // 2**30} GiB.")
    if len({info.filename for info in infos}) < len(infos):
        raise Refused("It holds two files of the same name.")
    for info in infos:
        _check_entry(info)
    return {info.filename: info for info in infos}


def _remove_top_folder(infos: dict[str, zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """The files by their names inside the folder that holds all of them; exports of early versions have none."""
    folder = next(iter(infos), "").partition("/")[0] + "/"
    if f"{folder}{MANIFEST}" in infos and all(name.startswith(folder) for name in infos):
        return {name.removeprefix(folder): info for name, info in infos.items()}
    return infos


def _check_entry(info: zipfile.ZipInfo) -> None:
    name = info.filename[:80]
    if len(info.filename) > 200 or not NAME.fullmatch(info.filename):
        raise Refused(f"{name!r} is no name that an export gives a file.")
    mode = info.external_attr >> 16
    if mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode):
        raise Refused(f"{name} is not a plain file.")
    if info.flag_bits & 1:
        raise Refused(f"{name} is encrypted.")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Refused(f"{name} is packed in a way that no export uses.")
    if info.file_size > 2**20 and info.file_size > MOST_RATIO * max(1, info.compress_size):
        raise Refused(
            f"{name} would unpack to {info.file_size:,} bytes from {info.compress_size:,}: that looks like a trap."
        )


def _parse_members(about: dict[str, Any]) -> Iterator[tuple[str, Member]]:
    files = about.get("files")
    if not isinstance(files, list):
        raise Refused(f"{MANIFEST} lists no files.")
    for entry in files:
        match entry:
            case {"name": str(name), "size": int(size), "sha256": str(sha256)}:
                yield name, Member(name, size, sha256)
            case _:
                raise Refused(f"{MANIFEST} has an entry that is no file.")


def _split_lines(pieces: Iterator[bytes], name: str) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
        if len(rest) > MOST_LINE:
            raise Refused(f"{name} has a row of more than {MOST_LINE:,} bytes.")
    if rest:
        yield rest


def _parse_json(data: bytes, where: str) -> Any:
    try:
        return json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise Refused(f"{where}: not JSON ({error}).") from error


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is no number in JSON")
