from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from webapp.problems import problem_sets


class Command(BaseCommand):
    help = "Import a set of problems: a folder with problems.yaml, a .zip of one, or a .yaml. See docs/problems.md."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            problems = problem_sets.import_set(problem_sets.read_path(options["path"]))
        except (problem_sets.BadSet, OSError) as error:
            raise CommandError(f"nothing was imported: {error}") from error
        self.stdout.write(f"Imported {len(problems)}: {', '.join(problem.name for problem in problems)}")
