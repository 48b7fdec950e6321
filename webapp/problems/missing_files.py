"""Files that an uploaded set names and lacks: which they are, and how they are added afterwards.

Until all are there, the set lies in the store as an archive. One that nobody completes is deleted
(webapp/archive/orphan_files.py).
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from webapp.base import zips
from webapp.base.store import store
from webapp.problems import problem_sets

FOLDER = "problem_sets"


def list_missing(files: Mapping[str, bytes]) -> list[str]:
    """The files that the set names and that are not among these. Raises BadSet."""
    return [name for name in dict.fromkeys(_list_named(files)) if name not in files]


def _list_named(files: Mapping[str, bytes]) -> Iterator[str]:
    for entry in _list_mappings(problem_sets.read_entries(files)):
        found = [about.get("file") for about in _list_mappings(entry.get("attachments"))]
        found += [entry.get(field) for field in problem_sets.FILE_FIELDS]
        for subtask in _list_mappings(entry.get("subtasks")):
            problem_sets.list_folder_cases(subtask, files)
            for case in _list_mappings(subtask.get("cases")):
                found += [case.get("stdin_file"), case.get("expected_file")]
        for name in map(str, filter(None, found)):
            if not name.isprintable():
                raise problem_sets.BadSet(f"{name!r} cannot be the name of a file")
            yield name


def _list_mappings(value: Any) -> list[dict[str, Any]]:
    """The mappings in a list of the set; what is none is reported when the set is imported."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def add_files(files: Mapping[str, bytes], given: Mapping[str, bytes]) -> tuple[dict[str, bytes], list[str]]:
    """The set with the given files that it lacks, and the names of those that it does not lack.

    A file is matched by its path, or by its name without folders where only one missing file has that name. A given
    problems.yaml replaces that of the set. Raises BadSet.
    """
    added = {**files, **{name: data for name, data in given.items() if name == problem_sets.SET_FILE}}
    missing = list_missing(added)
    same_name = Counter(PurePosixPath(name).name for name in missing)
    by_name = {PurePosixPath(name).name: name for name in given}
    used = {problem_sets.SET_FILE}
    for name in missing:
        last = PurePosixPath(name).name
        source = name if name in given else by_name.get(last) if same_name[last] == 1 else None
        if source is not None:
            added[name] = given[source]
            used.add(source)
    if len(added) > problem_sets.MOST_FILES or sum(map(len, added.values())) > problem_sets.MOST_BYTES:
        raise problem_sets.BadSet(
            f"the set has more than {problem_sets.MOST_FILES} files or {problem_sets.MOST_BYTES >> 20} MB"
        )
    return added, sorted(given.keys() - used)


def keep_set(files: Mapping[str, bytes], key: uuid.UUID) -> None:
    store.publish(_get_path(key), zips.pack(files))


def read_set(key: uuid.UUID) -> dict[str, bytes]:
    """Raises FileNotFoundError if it has been imported or deleted."""
    with store.open(_get_path(key)) as file:
        return problem_sets.read_bytes("set.zip", file.read())


def delete_set(key: uuid.UUID) -> None:
    store.delete(_get_path(key))


def _get_path(key: uuid.UUID) -> str:
    return f"{FOLDER}/{key}.zip"
