from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from webapp.archive.importer import restore
from webapp.archive.unpack import Refused
from webapp.base.commands import PrefineCommand


class Command(PrefineCommand):
    help = "Import the zip of a study's export, to look at: all of it or nothing, and nothing of it ever runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("zip", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            study = restore(options["zip"], "command line")
        except Refused as reason:
            raise CommandError(f"Nothing was imported. {reason}") from reason
        self.stdout.write(f"Imported: {study} (study {study.pk}). See the Data page of the bench.")
