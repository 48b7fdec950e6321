"""The methods, by name: every METHODS of this folder's files and packages. Add one by copying a neighbour."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from llm.method import Method

METHODS: dict[str, Method] = {
    method.name: method
    for module in sorted(module.name for module in iter_modules(__path__))
    for method in import_module(f"{__name__}.{module}").METHODS
}
OFFERED: dict[str, Method] = {name: method for name, method in METHODS.items() if method.offered}
"""The methods that people choose among."""
LOOKING_ON: tuple[str, ...] = tuple(name for name, method in METHODS.items() if method.looks_on)
"""Those that film policies of other experiments: their winners are none."""
ASKING_PAIRS: tuple[str, ...] = tuple(name for name, method in METHODS.items() if method.asks_pairs)
"""Those whose trainings also learn a reward, which takes other times than training alone."""


def get_method(name: str) -> Method:
    """The method of this name. Raises ValueError naming those that are offered."""
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; known: {', '.join(OFFERED)}")
    return METHODS[name]
