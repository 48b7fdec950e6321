"""Sentences as the language writes them."""

from __future__ import annotations

from collections.abc import Iterable


def join_sentences(sentences: Iterable[str]) -> str:
    """Japanese and Chinese have no space between sentences."""
    return "".join(one if one.endswith(("。", "：")) else f"{one} " for one in sentences if one).rstrip()
