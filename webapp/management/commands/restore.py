from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from webapp.backup.archive import Progress, Reader
from webapp.backup.databases import Failed
from webapp.backup.restore import describe_backup, describe_site_here, require_fitting, restore_backup
from webapp.base.commands import PrefineCommand


class Command(PrefineCommand):
    verb = "restore"
    help = "Put a backup in the place of this site, which must be stopped."
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--check", action="store_true", help="only verify the file")
        parser.add_argument("--overwrite", action="store_true", help="also where a site has people and work")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.restore(Reader(options["file"]), options["check"], options["overwrite"])
        except (Failed, OSError) as error:
            raise CommandError(str(error)) from error

    def restore(self, backup: Reader, check: bool, overwrite: bool) -> None:
        for line in describe_backup(backup):
            self.stdout.write(line)
        require_fitting(backup)
        if check:
            backup.verify(Progress("Checking", backup.size, self.stdout.write))
            self.stdout.write("Every checksum is right.")
            return
        if here := describe_site_here():
            loses = f"the database here with {', '.join(here)}, and its keys. Files of the same name are replaced."
            if not overwrite:
                raise Failed(f"Nothing was changed. Restoring would replace {loses} If you want that: --overwrite")
            self.stdout.write(f"Replacing {loses}")
        restore_backup(backup, self.stdout.write)
        self.stdout.write(
            "Restored. Start it with ./prefine up, or your site, workers and reaper. What happened after the backup is "
            "gone; data that people had deleted after it is back: delete it again."
        )
