from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from webapp.backup.archive import describe_size
from webapp.backup.copy_store import copy_files
from webapp.backup.databases import Failed
from webapp.base.commands import PrefineCommand
from webapp.base.local_store import LocalStore
from webapp.base.store_interface import Store

LOCAL, BUCKET = "local", "bucket"


class Command(PrefineCommand):
    verb = "copy-store"
    help = (
        "Copy the store's files from the data folder into the bucket of PREFINE_STORE_URL, or back. It may be stopped "
        "and begun again: what is there is not copied twice. Nothing is deleted."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("source", choices=(LOCAL, BUCKET), metavar="FROM", help="local or bucket")
        parser.add_argument("target", choices=(LOCAL, BUCKET), metavar="TO", help="the other one")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["source"] == options["target"]:
            raise CommandError("One of the two must be local, the other one bucket.")
        try:
            done = copy_files(open_store(options["source"]), open_store(options["target"]), self.stdout.write)
        except (Failed, OSError) as error:
            raise CommandError(f"{error}\nWhat was copied stays: give the same command to go on.") from error
        self.stdout.write(
            f"Copied {done.files} files, {describe_size(done.bytes)}; each was read back and is the same. "
            f"{done.there} were there already."
        )
        if done.gone:
            self.stdout.write(f"{done.gone} files were deleted while it copied.")


def open_store(name: str) -> Store:
    if name == LOCAL:
        return LocalStore()
    if settings.STORE is None:
        raise CommandError("Set PREFINE_STORE_URL to the bucket, for this command alone if the site goes on without.")
    from webapp.base.s3_store import S3Store  # not above: boto3 is slow to import

    return S3Store(settings.STORE)
