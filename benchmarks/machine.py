"""The line above a table that names the machine."""

from __future__ import annotations

from datetime import date

from trainer.machine import describe_machine


def machine(*packages: str) -> str:
    """The date, processor, cores and versions of Python and packages, for the line above a table."""
    return f"{date.today()}, {describe_machine(*packages)}"
