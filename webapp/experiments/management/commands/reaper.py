from __future__ import annotations

import logging
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import InterfaceError, OperationalError, close_old_connections

from webapp.experiments import reaper

log = logging.getLogger(__name__)

TICK_SECONDS = 1.0


class Command(BaseCommand):
    help = "Pick up what has been forgotten: jobs of dead workers, votes whose undo time is over, unheard calls."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="look once and end")

    def handle(self, *args: Any, **options: Any) -> None:
        while True:
            try:
                reaper.tick()
            except (OperationalError, InterfaceError) as error:
                log.warning("the database did not answer: %s", error)
            if options["once"]:
                return
            close_old_connections()
            time.sleep(TICK_SECONDS)
