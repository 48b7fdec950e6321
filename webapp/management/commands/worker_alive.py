from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from webapp.base.commands import PrefineCommand
from webapp.experiments import workers


class Command(PrefineCommand):
    help = "Exit with status 0 if a worker is alive by its heartbeat: the named one, or any on this machine."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", default="", help="the worker's name")

    def handle(self, *args: Any, **options: Any) -> None:
        worker = workers.find_alive(options["name"])
        if worker is None:
            raise CommandError(f"No worker {options['name'] or 'of this machine'} is alive.")
        self.stdout.write(f"{worker.name} is alive, heartbeat {worker.heartbeat:%H:%M:%S} UTC.")
