"""The tasks: a folder each, here and in the folders that PREFINE_TASKS names (docs/add-a-task.md)."""

import os
from pathlib import Path

OWN_FOLDERS: list[Path] = []
"""Folders of tasks outside this repository. A task there is imported as if its folder lay here."""


def add_own_folder(folder: Path) -> None:
    """Read tasks from this folder too, also in processes that are started from now on."""
    OWN_FOLDERS.append(folder)
    __path__.append(str(folder))
    os.environ["PREFINE_TASKS"] = os.pathsep.join(map(str, OWN_FOLDERS))


for text in filter(None, os.environ.get("PREFINE_TASKS", "").split(os.pathsep)):
    add_own_folder(Path(text).expanduser().resolve())
