"""The methods, by name: every METHODS tuple of this folder's files. Add one by copying a neighbour's file."""

from __future__ import annotations

from llm.method import Method
from llm.methods import eureka, icpl, open_loop, rda, revolve, rf_agent, scaling

METHODS: dict[str, Method] = {
    method.name: method
    for module in (icpl, open_loop, eureka, revolve, rf_agent, rda, scaling)
    for method in module.METHODS
}


def method(name: str) -> Method:
    """The method of this name. Raises ValueError naming the known ones."""
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; known: {', '.join(METHODS)}")
    return METHODS[name]
