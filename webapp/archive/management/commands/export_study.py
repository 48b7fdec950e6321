from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from webapp.archive import export
from webapp.archive.study_scope import Options
from webapp.audit import record
from webapp.base.commands import PrefineCommand
from webapp.studies.models import Study


class Command(PrefineCommand):
    help = "Write a study's data into one zip, as the Data page does. The same data gives the same bytes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", type=int, help="the study's number, as in the address of its page in the admin")
        parser.add_argument("zip", type=Path, help="the file to write")
        parser.add_argument("--without-clips", action="store_true", help="leave out films and stills")
        parser.add_argument("--checkpoints", action="store_true", help="with the trained policies")
        parser.add_argument("--fresh-labels", action="store_true", help="draw new pseudonyms, for publication")
        parser.add_argument("--pilots", action="store_true", help="with pilot participants, who are left out otherwise")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(pk=options["study"]).first()
        if study is None:
            known = ", ".join(f"{row.pk} ({row})" for row in Study.objects.all()) or "none"
            raise CommandError(f"There is no study {options['study']}. There are: {known}.")
        wanted = Options(
            not options["without_clips"], options["checkpoints"], options["fresh_labels"], options["pilots"]
        )
        record("system", "exported study", study, by="command line")
        export.unblind(study, "command line")
        export.write_export(study, options["zip"], wanted)
        self.stdout.write(f"{options['zip']}: {options['zip'].stat().st_size:,} bytes")
