"""The environments of other libraries that are most like ours, to compare with. Their physics is their own."""

from __future__ import annotations

from importlib.util import find_spec

LIKE = {"Cartpole": "InvertedPendulum-v5", "Ant": "Ant-v5", "Humanoid": "Humanoid-v5"}
"""Our task -> the name that gymnasium and envpool give to the same kind of robot."""


def list_absent(task: str, *libraries: str) -> list[str]:
    """A sentence for each of these libraries that has no row in the task's table."""
    sentences = []
    for library in libraries:
        if find_spec(library) is None:
            sentences.append(f"{library} is not installed.")
        elif task not in LIKE:
            sentences.append(f"{library} has no task like {task}.")
    return sentences
