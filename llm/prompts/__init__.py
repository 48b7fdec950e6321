"""Prompts are text files in this folder, filled with string.Template. A missing or unused variable raises."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from pathlib import Path
from string import Template

from llm.errors import PromptError

FOLDER = Path(__file__).parent


@cache
def _template(name: str) -> Template:
    path = FOLDER / f"{name}.txt"
    if not path.is_file():
        raise PromptError(f"there is no prompt file {path.name!r}; known: {', '.join(names())}")
    return Template(path.read_text())


def names() -> list[str]:
    """The prompts that there are, sorted."""
    return sorted(p.stem for p in FOLDER.glob("*.txt"))


def template(name: str, given: Collection[str]) -> Template:
    """The prompt file. Raises PromptError where there is none, or its variables are not exactly the given ones."""
    found = _template(name)
    wanted = set(found.get_identifiers())
    if not found.is_valid() or wanted != set(given):
        missing, unused = sorted(wanted - set(given)), sorted(set(given) - wanted)
        raise PromptError(
            f"prompt {name}.txt does not fit: missing {missing}, unused {unused}; every $ of the text is $$"
        )
    return found


def render(name: str, /, **values: str | int) -> str:
    """The prompt `name` with its variables filled in. Raises PromptError as `template` does."""
    return template(name, values).substitute(values).strip()
