from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from webapp.problems import exchange


class Command(BaseCommand):
    help = "Import a set of problems: a folder with problems.yaml, a .zip of one, or a .yaml. See docs/problems.md."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            problems = exchange.import_set(exchange.read_path(options["path"]))
        except (exchange.BadSet, OSError) as error:
            raise CommandError(f"nothing was imported: {error}") from error
        self.stdout.write(f"Imported {len(problems)}: {', '.join(problem.name for problem in problems)}")
