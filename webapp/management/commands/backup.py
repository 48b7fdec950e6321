from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from webapp.backup.archive import describe_size
from webapp.backup.create import create_backup
from webapp.backup.databases import Failed
from webapp.base.commands import PrefineCommand


class Command(PrefineCommand):
    verb = "backup"
    help = "Write database, files and keys into one file, while the site runs. Keep that file elsewhere, and secret."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", nargs="?", type=Path, help="default: backups/prefine-<time>.zip in the data folder")

    def handle(self, *args: Any, **options: Any) -> None:
        default = Path(settings.DATA_DIR) / "backups" / f"prefine-{timezone.now():%Y%m%d-%H%M%S}.zip"
        target: Path = (options["file"] or default).absolute()
        try:
            facts = create_backup(target, self.stdout.write)
        except (Failed, OSError) as error:
            raise CommandError(f"No backup was written: {error}") from error
        self.stdout.write(f"{target}: {facts['files']} files, {describe_size(facts['size'])}")
        if facts["deleted_meanwhile"]:
            self.stdout.write(
                f"{facts['deleted_meanwhile']} files were deleted while it was written, and are not in it."
            )
