"""Actions after a commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import transaction


def run_after_commit(action: Callable[..., object], *arguments: Any, **named: Any) -> None:
    """Call this on commit. An exception is logged and stops nothing else.

    A closure, because Django logs the function's `__qualname__`, which a functools.partial lacks.
    """

    def act() -> None:
        action(*arguments, **named)

    transaction.on_commit(act, robust=True)
