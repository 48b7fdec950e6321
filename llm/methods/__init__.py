"""The methods, by name. Add one by copying a neighbour and registering it here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llm.methods.icpl import icpl
from llm.methods.open_loop import open_loop
from llm.stepping import Steps


@dataclass(frozen=True)
class Method:
    """A method as the rest of the product knows it."""

    name: str
    title: str
    summary: str
    function: Callable[..., Steps]
    """Called as function(problem, rng, k, n, **options)."""


_ALL = (
    Method(
        "icpl",
        "ICPL",
        "The model writes K rewards, sees which robot you liked best and worst, and writes K more.",
        icpl,
    ),
    Method(
        "open_loop",
        "OpenLoop",
        "As many rewards as ICPL, all written from the first prompt, without feedback.",
        open_loop,
    ),
)
METHODS: dict[str, Method] = {m.name: m for m in _ALL}


def method(name: str) -> Method:
    """The method of this name. Raises ValueError naming the known ones."""
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; known: {', '.join(METHODS)}")
    return METHODS[name]
