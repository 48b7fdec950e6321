from __future__ import annotations

import logging
import threading
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import InterfaceError, OperationalError, close_old_connections

from webapp.experiments import reaper
from webapp.notices import courier

log = logging.getLogger(__name__)

TICK_SECONDS = 1.0


class Command(BaseCommand):
    help = (
        "Pick up what has been forgotten: jobs of dead workers, votes whose undo time is over, unheard calls, notices."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="look once and end")

    def handle(self, *args: Any, **options: Any) -> None:
        telling = threading.Thread(target=courier.run, args=[threading.Event()], name="courier", daemon=True)
        if options["once"]:
            courier.tick()
        else:
            telling.start()  # beside this one: a mail server may take its time, and leases may not
        while True:
            try:
                reaper.tick()
            except (OperationalError, InterfaceError) as error:
                log.warning("the database did not answer: %s", error)
            if options["once"]:
                return
            if not telling.is_alive():
                raise CommandError("Nobody is told any more: the lines above say why. Start the reaper again.")
            close_old_connections()
            time.sleep(TICK_SECONDS)
