"""What is to be done once a transaction has taken effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import transaction


def run_after_commit(action: Callable[..., object], *given: Any, **named: Any) -> None:
    """Call this on commit. What it raises is logged, and stops neither the caller nor what else is to be done.

    (Django names the function in its log by what a functools.partial does not have, and would stop there.)
    """

    def act() -> None:
        action(*given, **named)

    transaction.on_commit(act, robust=True)
