"""What the commands of Prefine have in common."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

DJANGO_OPTIONS = {
    *("--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color", "--force-color"),
    "--skip-checks",
}
"""Options of all Django commands, hidden from the help of Prefine's."""


class PrefineCommand(BaseCommand):
    """A command that starts without Django's checks: they load every page, which takes longer than most commands.

    `./prefine up`, which calls manage.py prepare, runs them.
    """

    verb = ""
    """The verb of ./prefine, as users call it; empty where there is none."""
    suppressed_base_arguments = DJANGO_OPTIONS
    requires_system_checks: list[str] = []

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **options)
        if self.verb:
            parser.prog = f"./prefine {self.verb}"
        return parser
