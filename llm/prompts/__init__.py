"""Prompts are text files in this folder, filled with string.Template. A missing or unused variable raises."""

from __future__ import annotations

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


def render(name: str, /, **values: str | int) -> str:
    """The prompt `name` with its variables filled in.

    Raises PromptError for an unknown prompt, and when the variables of the file are not exactly the ones given.
    """
    template = _template(name)
    wanted = set(template.get_identifiers())
    if not template.is_valid() or wanted != set(values):
        missing, unused = sorted(wanted - set(values)), sorted(set(values) - wanted)
        raise PromptError(
            f"prompt {name}.txt does not fit: missing {missing}, unused {unused}; every $ of the text is $$"
        )
    return template.substitute(values).strip()
