"""Python source to syntax trees, safely in a process with threads."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

_LOCK = RLock()


def parse_module(source: str) -> ast.Module:
    """The tree of a program. Raises what ast.parse raises on what is not Python."""
    with _pause_collection():
        return ast.parse(source)


def parse_expression(source: str) -> ast.expr:
    """The tree of one expression. Raises what ast.parse raises on what is not Python."""
    with _pause_collection():
        return ast.parse(source, mode="eval").body


@contextmanager
def _pause_collection() -> Iterator[None]:
    """No other thread runs while CPython builds a tree here.

    CPython 3.11 counts the depth of the tree that it builds in one place for all threads. A thread is suspended in the
    midst of that only where a garbage collection begins there and runs Python code; a thread that parses then makes the
    count of the first wrong (SystemError: AST constructor recursion depth mismatch). So no collection runs meanwhile;
    the lock is for those who switch it off and on.
    """
    with _LOCK:
        collecting = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if collecting:
                gc.enable()
