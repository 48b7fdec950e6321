"""A line of a command's output that the next one replaces on a terminal."""

from __future__ import annotations

from django.core.management.base import OutputWrapper


class StatusLine:
    def __init__(self, out: OutputWrapper) -> None:
        self.out, self.width = out, 0

    def show(self, line: str) -> None:
        """Replace the line on a terminal; elsewhere write a new one."""
        if not self.out.isatty():
            self.out.write(line)
            return
        self.out.write(f"\r{line:<{self.width}}", ending="")
        self.width = len(line)
        self.out.flush()

    def clear(self) -> None:
        if self.width:
            self.out.write(f"\r{'':<{self.width}}\r", ending="")
            self.width = 0
