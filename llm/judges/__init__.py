"""Who judges: the proxy (also as a noisy teacher), a language or vision model, a person, several people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llm.judges import model, proxy
from llm.method import Option, Value
from llm.method import settings as checked

OPTIONS: Mapping[str, tuple[Option, ...]] = {"proxy": proxy.OPTIONS, "model": model.OPTIONS, "human": ()}
"""What can be set for each kind of judge."""


def settings(judge: str, given: Mapping[str, Any]) -> dict[str, Value]:
    """The judge's options that differ from their defaults, checked. Raises ValueError."""
    return checked(OPTIONS.get(judge, ()), given, f"the judge {judge!r}")
