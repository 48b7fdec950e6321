from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from webapp.archive import orphan_files, retention


class Command(BaseCommand):
    help = "Delete the data of studies whose retention period is over, and files that no row knows."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="say what would be deleted, and delete nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        dry = options["dry_run"]
        over = retention.list_overdue()
        for study in over:
            people = study.participants.filter(deleted_at=None).count()
            if dry:
                self.stdout.write(
                    f"Would delete the data of {people} people: {study}, due {retention.find_due_day(study)}"
                )
            else:
                erased = retention.expire(study, "command line")
                self.stdout.write(f"Deleted the data of {people} people, {erased.total} rows: {study}")
        for due in retention.list_ending_soon():
            if due.study not in over:
                self.stdout.write(f"In {due.days} days, on {due.on}: {due.study}")
        for path in orphan_files.delete_orphans(dry):
            self.stdout.write(f"{'Would delete' if dry else 'Deleted'} a file that no row knows: {path}")
