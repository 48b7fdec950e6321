"""Replacements for operations on lists, tuples and dictionaries whose cost the syntax cannot bound.

A few lines build a list that holds itself twice, sixty times over. Comparing or hashing it visits 2^60 elements in C,
where no timer interrupts it. So only flat containers are compared, keys are texts or numbers, and texts do not grow.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from torch import Tensor

from simulation.rewards import allowed

NESTED = (list, tuple, dict)
MAX_NESTING = 4
"""Lists within lists of which a tensor may be made, or that may be its index."""


def add(left: Any, right: Any) -> Any:
    """The sum of tensors and numbers, or two lists in one."""
    if isinstance(left, Tensor | float) or isinstance(right, Tensor | float):
        return left + right
    if isinstance(left, str) or isinstance(right, str):
        raise TypeError("texts cannot be added: write the names of components in quotes")
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        _bound_length(len(left) + len(right))
    return left + right


def _bound_length(length: int) -> None:
    if length > allowed.MAX_LENGTH:
        raise ValueError(f"a list may have {allowed.MAX_LENGTH} elements at most: use tensors")


def guard_operand(value: Any) -> Any:
    """The operand of a comparison as it is. Raises TypeError on lists within lists."""
    if isinstance(value, NESTED):
        _require_flat(value.values() if isinstance(value, dict) else value)
    return value


def _require_flat(values: Iterable[Any]) -> None:
    if any(isinstance(value, NESTED) for value in values):
        raise TypeError("lists within lists cannot be compared or added up: use tensors")


def item(container: Any, index: Any) -> Any:
    """`container[index]`; keys of dictionaries are texts or whole numbers."""
    if isinstance(container, dict):
        return container[require_key(index)]
    count(index)
    return container[index]


def count(value: Any, nesting: int = MAX_NESTING) -> int:
    """The elements of lists within lists. Raises ValueError if they are more than MAX_LENGTH, or nested deeper."""
    if not isinstance(value, list | tuple):
        return 1
    if nesting == 0:
        raise ValueError(f"lists may be nested {MAX_NESTING} deep at most here: use tensors")
    elements = 0
    for element in value:
        elements += count(element, nesting - 1)
        _bound_length(elements)
    return elements


def call_counting(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Call a function that makes a tensor of lists."""
    for value in (*arguments, *keywords.values()):
        count(value)
    return function(*arguments, **keywords)


def require_key(value: Any) -> Any:
    """The key of a dictionary as it is. Raises TypeError unless it is a text or a whole number."""
    if not isinstance(value, str | int):
        raise TypeError("the key of a dictionary is a text or a whole number")
    return value


def get(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a dictionary's `get`."""
    return function(*map(require_key, arguments[:1]), *arguments[1:])


def call_listing(function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Call a dictionary's `keys`, `values` or `items`: as a list, which knows no operations on sets."""
    return builtins.list(function(*arguments))


def _list_elements(values: Any) -> list[Any]:
    """The elements, at most MAX_LENGTH; of a tensor, at most MAX_ITERATIONS rows."""
    if isinstance(values, Tensor) and len(values) > allowed.MAX_ITERATIONS:
        raise ValueError("this goes through the worlds one by one: use batched tensor operations")
    found = builtins.list(islice(values, allowed.MAX_LENGTH + 1))
    _bound_length(len(found))
    return found


def _list_compared(values: tuple[Any, ...]) -> list[Any]:
    """What `max` or `min` compare: the arguments, or the elements of the only one."""
    found = _list_elements(values[0]) if len(values) == 1 else builtins.list(values)
    _require_flat(found)
    return found


def largest(*values: Any, **keywords: Any) -> Any:
    """`max`."""
    return builtins.max(_list_compared(values), **keywords)


def smallest(*values: Any, **keywords: Any) -> Any:
    """`min`."""
    return builtins.min(_list_compared(values), **keywords)


def total(values: Any, start: Any = 0) -> Any:
    """`sum`."""
    found = _list_elements(values)
    _require_flat([start, *found])
    return builtins.sum(found, start)


def as_list(values: Any = ()) -> list[Any]:
    """`list`."""
    return _list_elements(values)


def as_tuple(values: Any = ()) -> tuple[Any, ...]:
    """`tuple`."""
    return builtins.tuple(_list_elements(values))


BUILTINS: dict[str, Any] = {"max": largest, "min": smallest, "sum": total, "list": as_list, "tuple": as_tuple}
"""Builtins that go through their argument in C."""
