from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from webapp.base import encryption


class Command(BaseCommand):
    help = (
        "Encrypt models' API keys and second factors with a new key. Where PREFINE_ENCRYPTION_KEYS is set, put the new "
        "key in front of the old one there first, restart, run this, then remove the old one."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        done, unreadable = encryption.rotate()
        self.stdout.write(f"Encrypted {done} secrets with the first key.")
        if unreadable:
            raise CommandError(
                f"{unreadable} secrets cannot be read with any key: add the key that encrypted them, or enter them "
                "again. The old keys are kept."
            )
