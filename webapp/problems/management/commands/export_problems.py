from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from webapp.base import zips
from webapp.problems import problem_sets
from webapp.problems.models import Problem


class Command(BaseCommand):
    help = "Export problems as a folder with problems.yaml and files, or as a .zip of it. See docs/problems.md."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, help="a folder that does not exist yet, or a .zip")
        parser.add_argument("names", nargs="*", help="problems (default: all)")

    def handle(self, *args: Any, **options: Any) -> None:
        path, names = options["path"], options["names"]
        problems = Problem.objects.filter(name__in=names) if names else Problem.objects.all()
        missing = set(names) - set(problems.values_list("name", flat=True))
        if missing or not problems:
            raise CommandError(
                f"there is no problem {', '.join(sorted(missing))}" if missing else "there are no problems"
            )
        if path.exists():
            raise CommandError(f"{path} already exists")
        files = problem_sets.export_set(problems)
        if path.suffix == ".zip":
            path.write_bytes(zips.pack(files))
        else:
            for name, data in files.items():
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                (path / name).write_bytes(data)
        self.stdout.write(f"Exported {problems.count()} to {path}")
