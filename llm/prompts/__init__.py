"""Prompts are text files in this folder, filled with string.Template. A missing or unused variable raises.

PREFINE_PROMPTS names a folder whose files replace those of the same name (docs/models.md); so does a set of prompts
that an experiment chooses (`use_own`).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from string import Template

from llm.errors import PromptError

FOLDER = Path(__file__).parent
MEASURE = ("reasoning_judge_system", "reasoning_same")
"""Ask whether an answer is right, which is an experiment's score: the same words for all that are compared."""
_given: Mapping[str, str] | None = None
"""Own texts in place of those of PREFINE_PROMPTS: of a replayed record, or of the set that an experiment chose."""


@cache
def _read_template(name: str) -> Template:
    own, path = read_own().get(name), FOLDER / f"{name}.txt"
    if own is None and not path.is_file():
        raise PromptError(f"there is no prompt file {path.name!r}; known: {', '.join(list_names())}")
    return Template(path.read_text() if own is None else own)


def list_names() -> list[str]:
    """The prompts that there are, sorted."""
    return sorted(p.stem for p in FOLDER.glob("*.txt"))


def read_published() -> dict[str, str]:
    """Prefine's own prompts, by name."""
    return {name: (FOLDER / f"{name}.txt").read_text() for name in list_names()}


def get_template(name: str, given: Collection[str]) -> Template:
    """The prompt file. Raises PromptError where there is none, or its variables are not exactly the given ones."""
    found = _read_template(name)
    wanted = set(found.get_identifiers())
    if not found.is_valid() or wanted != set(given):
        missing, unused = sorted(wanted - set(given)), sorted(set(given) - wanted)
        raise PromptError(
            f"prompt {name}.txt does not fit: missing {missing}, unused {unused}; every $ of the text is $$"
        )
    return found


def render(name: str, /, **values: str | int) -> str:
    """The prompt `name` with its variables filled in. Raises PromptError as `get_template` does."""
    return get_template(name, values).substitute(values).strip()


# --- prompts of one's own -----------------------------------------------------------------------------------------


def read_own() -> Mapping[str, str]:
    """The texts that replace prompts of this folder, by name; empty without PREFINE_PROMPTS. Raises PromptError."""
    if _given is not None:
        return _given
    folder = os.environ.get("PREFINE_PROMPTS", "")
    return _read_folder(Path(folder).expanduser()) if folder else {}


@cache
def _read_folder(folder: Path) -> Mapping[str, str]:
    try:
        texts = {path.stem: path.read_text() for path in sorted(folder.glob("*.txt"))}
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"PREFINE_PROMPTS={folder}: {error}") from error
    reasons = find_faults(texts)
    if not texts:
        reasons = ["the folder holds no prompt, which is a file such as feedback.txt"]
    if reasons:
        raise PromptError(f"PREFINE_PROMPTS={folder}: {'; '.join(reasons)}")
    return texts


def find_faults(texts: Mapping[str, str]) -> list[str]:
    """Why these texts cannot take the place of the prompts of their names; empty where they can."""
    return [reason for name, text in texts.items() for reason in _find_faults(name, text)]


def _find_faults(name: str, text: str) -> Iterator[str]:
    """Why this text cannot take the place of the prompt of this name."""
    if name not in list_names():
        near = get_close_matches(name, list_names(), 1)
        yield f"there is no prompt {name}.txt to replace{f'; the nearest is {near[0]}.txt' if near else ''}"
        return
    own, published = Template(text), Template((FOLDER / f"{name}.txt").read_text())
    if not own.is_valid():
        yield f"{name}.txt has a $ that begins no variable: write $$"
        return
    have, wanted = set(own.get_identifiers()), set(published.get_identifiers())
    if lacking := wanted - have:
        yield f"{name}.txt lacks {', '.join(f'${variable}' for variable in sorted(lacking))}"
    if surplus := have - wanted:
        yield f"{name}.txt has unknown {', '.join(f'${variable}' for variable in sorted(surplus))}"


def hash_texts(texts: Mapping[str, str]) -> str:
    """A short name of a set of texts: the same for the same texts alone. Empty for none."""
    return hashlib.sha256(json.dumps(dict(texts), sort_keys=True).encode()).hexdigest()[:10] if texts else ""


@contextmanager
def use_own(texts: Mapping[str, str]) -> Iterator[None]:
    """Have these texts replace prompts, in place of those of PREFINE_PROMPTS. For a process with one thread."""
    global _given
    _given, before = texts, _given
    _read_template.cache_clear()
    try:
        yield
    finally:
        _given = before
        _read_template.cache_clear()
