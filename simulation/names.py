"""Names as people type them: which known name is meant, and what to say where there is none."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches


def find_name(kind: str, text: str, known: Collection[str], owner: str = "") -> str:
    """The known name that `text` means. Raises ValueError with the nearest name, or all of them."""
    name = match_name(text, known)
    if name is None:
        raise ValueError(describe_unknown(kind, text, known, owner))
    return name


def match_name(text: str, known: Collection[str]) -> str | None:
    """The known name that `text` means, in any case and however its words are joined; None if no or no single one."""
    if text in known:
        return text
    same = [name for name in known if _fold(name) == _fold(text)]
    return same[0] if len(same) == 1 else None


def describe_unknown(kind: str, text: str, known: Collection[str], owner: str = "") -> str:
    """The message about an unknown name: the nearest known one, or, where none is near, all of them. They are those
    of `owner` if it is given.
    """
    of = f" of {owner}" if owner else ""
    return f"unknown {kind} {text!r}{of}" + (suggest_name(text, known) or f"; known: {', '.join(known)}")


def suggest_name(text: str, known: Collection[str]) -> str:
    """A sentence that asks whether the nearest known name was meant, to append to a message; empty if none is near."""
    folded = {_fold(name): name for name in known}
    near = get_close_matches(_fold(text), folded, 1)
    return f". Did you mean {folded[near[0]]}?" if near else ""


def _fold(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
