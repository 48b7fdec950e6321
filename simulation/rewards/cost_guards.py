"""Bounds on tensor operations that compute more than they allocate: products of matrices, and sorting.

One call of them runs in C, where no timer interrupts it: 8 192 x 8 192 whole numbers take ten minutes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

from torch import Tensor

from simulation.rewards import allowed


def matrix_product(left: Any, right: Any) -> Any:
    """`left @ right`."""
    _bound_products(_count_products_of_matrices(left, right), "@")
    return left @ right


def call_product(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Call a function of allowed.PRODUCTS, or a tensor's method of that name, if it multiplies at most MAX_PRODUCTS
    times.
    """
    name, owner = function.__name__, getattr(function, "__self__", None)
    operands = [*([owner] if isinstance(owner, Tensor) else []), *arguments, *keywords.values()]
    if name == "einsum":
        count = _count_products_of_einsum(operands)
    elif name in ("norm", "linalg_norm") and any(isinstance(value, str) and value != "fro" for value in operands):
        raise ValueError(f"{name} takes no text but 'fro'")
    elif name == "linalg_norm":
        count = _count_products_of_norm(*arguments, **keywords)
    else:
        tensors = [operand for operand in operands if isinstance(operand, Tensor)]
        of = _count_products_of_rows if name == "inner" else _count_products_of_matrices
        count = of(*tensors) if len(tensors) == 2 else 0
    _bound_products(count, name)
    return function(*arguments, **keywords)


def _bound_products(count: int, name: str) -> None:
    if count > allowed.MAX_PRODUCTS:
        raise ValueError(f"{name} would take more than {allowed.MAX_PRODUCTS} multiplications: use smaller matrices")


def _count_products_of_matrices(left: Any, right: Any) -> int:
    """(..., n, m) @ (..., m, k) takes n * m * k multiplications for each of the batch; vectors have n or k = 1."""
    if not isinstance(left, Tensor) or not isinstance(right, Tensor) or not left.dim() or not right.dim():
        return 0  # an error of the operation itself
    columns = right.shape[-1] if right.dim() > 1 else 1
    rows = left.shape[-2] if left.dim() > 1 else 1
    pairs = zip_longest(reversed(left.shape[:-2]), reversed(right.shape[:-2]), fillvalue=1)
    return math.prod(map(max, pairs)) * rows * left.shape[-1] * columns


def _count_products_of_rows(left: Tensor, right: Tensor) -> int:
    """inner(left, right): each row of one with each of the other."""
    return left.numel() * right.numel() // max(1, right.shape[-1] if right.dim() else 1)


def _count_products_of_einsum(operands: list[Any]) -> int:
    """The product of all letters' sizes, for each operand."""
    letters, *tensors = operands
    if not isinstance(letters, str) or not all(isinstance(tensor, Tensor) for tensor in tensors):
        raise TypeError("einsum takes a text such as 'ni,ni->n' and then tensors")
    sizes: dict[str, int] = {}
    for names, tensor in zip(letters.replace(" ", "").partition("->")[0].split(","), tensors, strict=False):
        for name, size in zip(names, tensor.shape, strict=False):
            sizes[name] = max(sizes.get(name, 1), size)
    return math.prod(sizes.values()) * len(tensors)


def _count_products_of_norm(tensor: Any = None, ord: Any = None, dim: Any = None, *others: Any, **keywords: Any) -> int:
    """linalg.norm of a matrix may decompose it, which takes (n, m) some 32 n m min(n, m) multiplications."""
    if (
        ord is None
        or isinstance(ord, str)
        or isinstance(dim, int)
        or not isinstance(tensor, Tensor)
        or tensor.dim() < 2
    ):
        return 0
    return 32 * tensor.numel() * sorted(tensor.shape)[-2]


def call_sorting(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Call a function of allowed.SORTING, or a tensor's method of that name, for at most MAX_SORTED elements."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, list):
        raise TypeError("lists cannot be sorted: use torch.sort")
    tensors = [value for value in (owner, *arguments, *keywords.values()) if isinstance(value, Tensor)]
    if max((tensor.numel() for tensor in tensors), default=0) > allowed.MAX_SORTED:
        raise ValueError(f"{function.__name__} would sort more than {allowed.MAX_SORTED} elements: use fewer")
    return function(*arguments, **keywords)
