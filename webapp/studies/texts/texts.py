"""A text that an experimenter wrote, and how far each language is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Text:
    place: str
    """Where people read it, for experimenters."""
    source: str
    stays: bool = False
    """A name and an address, which need no translation."""


def count_translated(texts: Iterable[Text], words: Mapping[str, str]) -> int:
    return sum(text.stays or text.source in words for text in texts)
