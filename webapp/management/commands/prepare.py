"""What `./prefine up` does before it starts the processes; running it again changes nothing."""

from __future__ import annotations

from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Migrate the database, collect static files, create an administrator and the demonstration studies."

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("migrate", verbosity=0, interactive=False)
        call_command("collectstatic", verbosity=0, interactive=False)
        call_command("create_administrator", stdout=self.stdout)
        call_command("demonstration", verbosity=0)
