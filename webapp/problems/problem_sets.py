"""Import and export of problem sets: YAML with files beside it (docs/problems.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import Any

import yaml
from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models import QuerySet

from webapp.base import zips
from webapp.base.store import store
from webapp.problems.models import Attachment, Problem, Subtask, TestCase, get_ending
from webapp.problems.signals import find_open_votes

FORMAT = 1
SET_FILE = "problems.yaml"
"""The name of the YAML file in a folder or an archive."""
MOST_FILES, MOST_BYTES = 2000, 64 << 20
"""Limits of a whole set, checked before an archive is unpacked."""
MOST_YAML = 4 << 20
"""Bytes of the YAML file alone. Long test cases are files beside it."""
MOST_EVENTS, MOST_DEPTH = 100_000, 30
"""What the YAML may consist of: values with beginnings and ends of lists and mappings, and their nesting. A large set
has a tenth of it."""
FIELDS = (
    *("title", "subject", "form", "language", "statement", "reference", "answer", "tolerance"),
    *("cpu_seconds", "memory_mb", "show_reference", "show_results"),
    *("header_name", "header", "grader", "checker"),
)
FILE_FIELDS = {f"{name}_file": name for name in ("header", "grader", "checker")}
"""Texts that may be files of the set: a field that names the file -> the problem's field."""
LINKS = ("attachments", "subtasks")


class BadSet(ValueError):
    """The set cannot be imported; the message tells its author why."""


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None),
)


def read_path(path: Path) -> dict[str, bytes]:
    """The files of a set by name, from a folder, a .zip or a single .yaml. Raises BadSet and OSError."""
    if path.is_dir():
        found = [file for file in sorted(path.rglob("*")) if file.is_file() and not file.is_symlink()]
        if len(found) > MOST_FILES or sum(file.stat().st_size for file in found) > MOST_BYTES:
            raise BadSet(f"{path} has more than {MOST_FILES} files or {MOST_BYTES >> 20} MB")
        return {file.relative_to(path).as_posix(): file.read_bytes() for file in found}
    return read_bytes(path.name, path.read_bytes())


def read_bytes(name: str, data: bytes) -> dict[str, bytes]:
    """The files of an uploaded .zip or .yaml by name. Raises BadSet."""
    if not name.lower().endswith(".zip"):
        return {SET_FILE: data}
    try:
        files = zips.unpack(name, data, MOST_FILES, MOST_BYTES)
    except ValueError as error:
        raise BadSet(str(error)) from error
    return _strip_top_folder(files)


def _strip_top_folder(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files without the folder that contains all of them, if there is one."""
    place = min((name for name in files if PurePosixPath(name).name == SET_FILE), key=len, default="")
    top = place.removesuffix(SET_FILE)
    return {name.removeprefix(top): data for name, data in files.items() if name.startswith(top)}


def import_examples(folder: Path) -> list[Problem]:
    """Save the example problems of this folder, with their pictures. Those that exist stay as they are."""
    having = frozenset(Problem.objects.values_list("name", flat=True))
    return import_set(read_path(folder), leave_out=having)


def import_set(files: Mapping[str, bytes], leave_out: frozenset[str] = frozenset()) -> list[Problem]:
    """Save all problems of a set, or none. A problem of the same name is replaced, with its files and cases.

    `leave_out`: names of problems that are not imported. Raises BadSet.
    """
    entries = read_entries(files)
    problems = [entry for entry in entries if not (isinstance(entry, dict) and entry.get("name") in leave_out)]
    with ExitStack() as undo:  # deletes stored files if the import fails
        with transaction.atomic():
            saved = [_import_entry(number, entry, files, undo) for number, entry in enumerate(problems, 1)]
        undo.pop_all()
    return saved


def _import_entry(number: int, entry: Any, files: Mapping[str, bytes], undo: ExitStack) -> Problem:
    where = f"problem {number}"
    if not isinstance(entry, dict):
        raise BadSet(f"{where} is not a mapping of fields")
    where = f"problem {entry.get('name', number)!r}"
    try:
        return _import_problem(entry, files, where, undo)
    except ValidationError as error:
        raise BadSet(f"{where}: {_format_error(error)}") from error
    except OverflowError as error:  # .inf where a whole number is expected
        raise BadSet(f"{where}: {error}") from error


def read_entries(files: Mapping[str, bytes]) -> list[Any]:
    """The problems of the set as the YAML has them, unchecked. Raises BadSet."""
    data = _parse_set(files)
    problems = data.get("problems")
    if data.get("format") != FORMAT or not isinstance(problems, list):
        raise BadSet(f"{SET_FILE} must begin with `format: {FORMAT}` and have a list `problems`")
    return problems


def _parse_set(files: Mapping[str, bytes]) -> dict[str, Any]:
    if SET_FILE not in files:
        raise BadSet(f"there is no {SET_FILE}")
    if len(files[SET_FILE]) > MOST_YAML:
        raise BadSet(f"{SET_FILE} has more than {MOST_YAML >> 20} MB: put long test cases into files (stdin_file)")
    try:
        text = files[SET_FILE].decode()
        _check_yaml(text)
        data = yaml.load(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: not UTF-8, or no valid date
        raise BadSet(f"{SET_FILE} cannot be read: {error}") from error
    if not isinstance(data, dict):
        raise BadSet(f"{SET_FILE} is not a mapping")
    return data


def _check_yaml(text: str) -> None:
    """Refuse what is small here and slow or large when it is read: aliases, masses of values, deep nesting."""
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader)):
        if number > MOST_EVENTS:
            raise BadSet(f"{SET_FILE} has more than {MOST_EVENTS:,} values")
        if isinstance(event, yaml.AliasEvent):
            raise BadSet("YAML aliases (*name) are not allowed here")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_DEPTH:
            raise BadSet(f"{SET_FILE} is nested more than {MOST_DEPTH} levels deep")


def _format_error(error: ValidationError) -> str:
    if hasattr(error, "message_dict"):
        return "; ".join(f"{field}: {' '.join(texts)}" for field, texts in error.message_dict.items())
    return " ".join(error.messages)


def _import_problem(entry: dict[str, Any], files: Mapping[str, bytes], where: str, undo: ExitStack) -> Problem:
    known_fields = ("name", *FIELDS, *FILE_FIELDS, *LINKS)
    if unknown := set(entry) - {*known_fields}:
        raise BadSet(f"{where}: unknown fields {', '.join(sorted(unknown))}; known: {', '.join(known_fields)}")
    texts = {field: _read_text(files, str(entry[key]), where) for key, field in FILE_FIELDS.items() if entry.get(key)}
    name = str(entry.get("name", ""))
    known = Problem.objects.select_for_update(no_key=True).filter(name=name)  # opening a vote locks it, too
    problem = known.first() or Problem(name=name)
    for field, default in _read_defaults().items():
        value = texts.get(field, entry.get(field))
        value = default if value is None else value
        setattr(problem, field, value.strip() if isinstance(value, str) else value)
    problem.full_clean()
    problem.save()
    problem.subtasks.all().delete()
    problem.cases.all().delete()
    _import_attachments(problem, entry, files, where, undo)
    for given in _read_list(entry, "subtasks", where):
        _import_subtask(problem, given, files, where)
    return problem


def _read_defaults() -> dict[str, Any]:
    fresh = Problem()
    return {name: getattr(fresh, name) for name in FIELDS}


def _read_list(entry: Mapping[str, Any], name: str, where: str) -> list[dict[str, Any]]:
    found = entry.get(name) or []
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise BadSet(f"{where}: {name} must be a list of mappings")
    return found


def _import_attachments(
    problem: Problem, entry: dict[str, Any], files: Mapping[str, bytes], where: str, undo: ExitStack
) -> None:
    """Save one row per file, in this order. An unchanged file keeps its row, and so its address on open pages."""
    rows, given = list(problem.attachments.all()), _read_list(entry, "attachments", where)
    names = [str(about.get("file", "")) for about in given]
    stored = [_read_stored(row) for row in rows]
    wanted = [(get_ending(name), _read_file(files, name, where)) for name in names]
    places = _match_rows(stored, wanted)
    labels = [_read_labels(about, name) for about, name in zip(given, names, strict=True)]
    kept = {place for place, file in zip(places, wanted, strict=True) if place is not None and stored[place] == file}
    kept_labels = {place: label for place, label in zip(places, labels, strict=True) if place in kept}
    changed = [row for number, row in enumerate(rows) if kept_labels.get(number) != (row.name, row.caption)]
    for title in find_open_votes(changed):
        raise BadSet(f"{where}: the open vote “{title}” shows a file that would be changed or removed; close it first")
    for about, name, label, (_, data), place in zip(given, names, labels, wanted, places, strict=True):
        row = Attachment(problem=problem) if place is None else rows[place]
        if place not in kept:
            row.file = ContentFile(data, PurePosixPath(name).name)
        row.name, row.caption = label
        row.to_model = about.get("to_model", True)
        row.full_clean()
        row.save()
        if place not in kept:
            undo.callback(store.delete, str(row.file.name))
    for number, row in enumerate(rows):
        if number not in places:
            row.delete()


def _read_labels(about: Mapping[str, Any], file: str) -> tuple[str, str]:
    """Name and caption of an attachment in the set."""
    return str(about.get("name") or PurePosixPath(file).name)[:100], str(about.get("caption") or "")


def _read_stored(row: Attachment) -> tuple[str, bytes | None]:
    """Ending and content of a row's file; the content is None if the file is lost."""
    kind = get_ending(row.file.name or "")
    try:
        with row.file.open("rb") as file:
            return kind, file.read()
    except FileNotFoundError:
        return kind, None


def _match_rows(stored: Sequence[Any], wanted: Sequence[Any]) -> list[int | None]:
    """The index of the row for each wanted file, in ascending order; None for a new row.

    A file gets the row that holds it, else one whose file is no longer wanted; once one needs a new row, so do all
    after it.
    """
    places: list[int | None] = []
    first = 0
    for number, file in enumerate(wanted):
        rest = list(stored[first:])
        if file in rest:
            place = first + rest.index(file)
        elif rest and rest[0] not in wanted[number:]:
            place = first
        else:
            return places + [None] * (len(wanted) - number)
        places.append(place)
        first = place + 1
    return places


def _import_subtask(problem: Problem, given: dict[str, Any], files: Mapping[str, bytes], where: str) -> None:
    subtask = Subtask(problem=problem, number=given.get("number", 1), points=given.get("points", 1))
    subtask.full_clean()
    subtask.save()
    cases = [*_read_list(given, "cases", where), *list_folder_cases(given, files)]
    for case in cases:
        texts = {name: _read_case_text(case, name, files, where) for name in ("stdin", "expected")}
        row = TestCase(problem=problem, subtask=subtask.number, **texts)
        row.full_clean()
        row.save()


def list_folder_cases(given: dict[str, Any], files: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """The cases of a subtask's `cases_in`, a folder that has NAME.out for each NAME.in, in the order of their names and
    numbers. Raises BadSet without any: one cannot add a folder file by file.
    """
    if not (folder := str(given.get("cases_in") or "").rstrip("/")):
        return []
    inputs = [name for name in files if name.startswith(f"{folder}/") and name.endswith(".in")]
    inputs.sort(key=lambda name: [part.zfill(9) for part in re.split(r"(\d+)", name)])
    if not inputs:
        raise BadSet(f"cases_in: the folder {folder!r} is not in the set, or no file in it ends in .in; send a .zip")
    return [{"stdin_file": name, "expected_file": f"{name.removesuffix('.in')}.out"} for name in inputs]


def _read_case_text(case: dict[str, Any], name: str, files: Mapping[str, bytes], where: str) -> str:
    if f"{name}_file" in case:
        return _read_text(files, str(case[f"{name}_file"]), where)
    text = case.get(name)
    if text is not None and not isinstance(text, str):  # YAML reads 007 as 7, 1.50 as 1.5 and yes as true
        raise BadSet(f"{where}: {name} of a case is {text!r}, not a text: put it in quotes")
    return text or ""


def _read_file(files: Mapping[str, bytes], name: str, where: str) -> bytes:
    if name not in files:
        raise BadSet(f"{where}: the file {name!r} is not there")
    return files[name]


def _read_text(files: Mapping[str, bytes], name: str, where: str) -> str:
    try:
        return _read_file(files, name, where).decode()
    except UnicodeDecodeError as error:
        raise BadSet(f"{where}: {name!r} is no UTF-8 text") from error


def export_set(problems: QuerySet[Problem]) -> dict[str, bytes]:
    """The files of a set by name, as `import_set` takes them."""
    files: dict[str, bytes] = {}
    entries = [_export_problem(problem, files) for problem in problems]
    text = yaml.dump({"format": FORMAT, "problems": entries}, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return {SET_FILE: text.encode(), **files}


def _export_problem(problem: Problem, files: dict[str, bytes]) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": problem.name}
    for name, default in _read_defaults().items():
        value = getattr(problem, name)
        if value != default or name in ("subject", "form"):
            entry[name] = value.replace("\r\n", "\n") if isinstance(value, str) else value
    for number, attachment in enumerate(problem.attachments.all(), 1):
        place = f"{problem.name}/{number}-{PurePosixPath(attachment.name).name or 'file'}"
        with attachment.file.open("rb") as file:
            files[place] = file.read()
        about = {"file": place, "name": attachment.name, "caption": attachment.caption}
        entry.setdefault("attachments", []).append({**about, "to_model": attachment.to_model})
    numbers = sorted({*problem.points(), *problem.cases.values_list("subtask", flat=True)})
    for subtask in numbers:
        cases = [{"stdin": c.stdin, "expected": c.expected} for c in problem.cases.filter(subtask=subtask)]
        points = problem.points().get(subtask, 1.0)
        entry.setdefault("subtasks", []).append({"number": subtask, "points": points, "cases": cases})
    return entry
