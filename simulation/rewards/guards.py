"""Replacements for the few operations whose cost or effect the syntax cannot bound.

Multiplication and powers of integers, loops, allocations and assignments to elements run through these functions, the
rest through `container_guards` and `cost_guards`: see `contract` for where they are put. Each raises ValueError or
TypeError with what to change.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from simulation.rewards import allowed, container_guards, cost_guards

MAX_BITS = 63


def multiply(left: Any, right: Any) -> Any:
    """The product of tensors and numbers; integers stay below 2^63."""
    if isinstance(left, Tensor | float) or isinstance(right, Tensor | float):
        return left * right
    return _require_small_product(left, right) and left * right


def power(base: Any, exponent: Any) -> Any:
    """The power of tensors and numbers; integers stay below 2^63."""
    if isinstance(base, Tensor | float) or isinstance(exponent, Tensor | float):
        return base**exponent
    _require_small_product(base, exponent)
    if exponent > 0 and abs(base) > 1 and exponent * base.bit_length() > MAX_BITS:
        raise ValueError("the power of two integers is too large: use floats")
    return base**exponent


def _require_small_product(left: Any, right: Any) -> bool:
    if not isinstance(left, int) or not isinstance(right, int):
        raise TypeError(f"cannot multiply {type(left).__name__} and {type(right).__name__}")
    if left.bit_length() + right.bit_length() > MAX_BITS:
        raise ValueError("the product of two integers is too large: use floats")
    return True


def iterate(iterable: Any) -> Iterator[Any]:
    """The elements of a range, list, tuple, zip, enumeration or dictionary, at most MAX_ITERATIONS.

    Raises TypeError on a tensor, which would be a loop over worlds.
    """
    if isinstance(iterable, Tensor):
        raise TypeError("a loop over a tensor runs over the worlds one by one: use batched tensor operations")
    iterator = iter(iterable)
    yield from islice(iterator, allowed.MAX_ITERATIONS)
    if next(iterator, iterator) is not iterator:
        raise ValueError(f"a loop may run {allowed.MAX_ITERATIONS} times at most: use batched tensor operations")


def short_range(*limits: int) -> range:
    """A range of at most MAX_ITERATIONS numbers."""
    numbers = range(*limits)
    if len(numbers) > allowed.MAX_ITERATIONS:
        raise ValueError(f"a range may have {allowed.MAX_ITERATIONS} numbers at most: use batched tensor operations")
    return numbers


def put(target: Any, index: Any, value: Any) -> Any:
    """`target[index] = value`: on a copy of a tensor, so that no other name of it changes; in place on a dict."""
    if isinstance(target, Tensor):
        container_guards.count(index)
        container_guards.count(value)
        target = target.clone()
    elif isinstance(target, dict):
        index = container_guards.require_key(index)
    target[index] = value
    return target


def call_allocating(function: Any, *arguments: Any, **keywords: Any) -> Any:
    """Call a torch function or tensor method that allocates by its arguments, if that is at most MAX_ELEMENTS.

    The bound is the product of every whole number in the arguments (of the size alone for `full`), times the largest
    tensor among them, the tensor of a method included, unless the arguments alone say the size: never less than what is
    allocated.
    """
    name, values = function.__name__, [*arguments, *keywords.values()]
    container_guards.count(values)
    if name in ("full", "new_full"):
        values = [keywords.get("size", arguments[:1])]
    if name == "arange" and any(isinstance(value, float) for value in values):
        raise ValueError("arange takes whole numbers here: scale its result instead")
    tensors = [value for value in (*values, getattr(function, "__self__", None)) if isinstance(value, Tensor)]
    largest = max((tensor.numel() for tensor in tensors), default=1)
    factor = 1 if name.startswith("new_") or (name == "expand" and _is_complete(arguments)) else max(1, largest)
    if math.prod(_list_sizes(values)) * factor > allowed.MAX_ELEMENTS:
        raise ValueError(f"{name} would allocate more than {allowed.MAX_ELEMENTS} elements")
    return function(*arguments, **keywords)


def _is_complete(sizes: tuple[Any, ...]) -> bool:
    """Whether these sizes leave none to the tensor, as -1 would."""
    flat = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], tuple | list) else sizes
    return len(flat) > 0 and all(isinstance(size, int) and size >= 0 for size in flat)


def _list_sizes(values: Any) -> Iterator[int]:
    """Every whole number in these values, tuples and small integer tensors, as a factor."""
    for value in values:
        if isinstance(value, tuple | list):
            yield from _list_sizes(value)
        elif isinstance(value, int):
            yield max(1, abs(value))
        elif isinstance(value, Tensor) and not value.is_floating_point() and value.numel() > 0:
            yield max(1, int(value.abs().max()))


GUARDS = {
    "__multiply": multiply,
    "__power": power,
    "__bounded": iterate,
    "__put": put,
    "__sized": call_allocating,
    "__slice": slice,
    "__add": container_guards.add,
    "__comparable": container_guards.guard_operand,
    "__item": container_guards.item,
    "__key": container_guards.require_key,
    "__get": container_guards.get,
    "__counted": container_guards.call_counting,
    "__listed": container_guards.call_listing,
    "__matrix_product": cost_guards.matrix_product,
    "__multiplied": cost_guards.call_product,
    "__ordered": cost_guards.call_sorting,
}
"""The names under which compiled rewards find them; sources cannot contain names that start with two underscores."""
OPERATORS = {"Add": "__add", "Mult": "__multiply", "Pow": "__power", "MatMult": "__matrix_product"}
"""Operators of the syntax tree -> their guards."""
CALLS = {
    **dict.fromkeys(allowed.SIZED, "__sized"),
    **dict.fromkeys(allowed.PRODUCTS, "__multiplied"),
    **dict.fromkeys(allowed.SORTING, "__ordered"),
    **dict.fromkeys(("items", "keys", "values"), "__listed"),
    **dict.fromkeys(("tensor", "as_tensor", "new_tensor"), "__counted"),
    "get": "__get",
}
"""Names of functions and methods -> the guards that call them."""


def _stand_in(names: frozenset[str], module: Any) -> Any:
    """An object with only these functions of a module (dotted names as nested objects)."""
    root = _Names()
    for name in names:
        *folders, last = name.split(".")
        place, source = root, module
        for folder in folders:
            place = place.__dict__.setdefault(folder, _Names())
            source = getattr(source, folder)
        place.__dict__[last] = getattr(source, last)
    return root


class _Names:
    """An object that holds names."""


TORCH = _stand_in(allowed.TORCH_FUNCTIONS | allowed.TORCH_CONSTANTS, torch)
MATH = _stand_in(allowed.MATH_FUNCTIONS | allowed.MATH_CONSTANTS, math)
