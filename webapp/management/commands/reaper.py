from __future__ import annotations

import logging
import threading
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import InterfaceError, OperationalError, close_old_connections

from webapp import reaper
from webapp.archive import retention
from webapp.notices import notifier

log = logging.getLogger(__name__)

TICK_SECONDS = 1.0
BESIDE = (notifier.run, retention.run)
"""In threads of their own: mail servers and the deletion of a study take their time, and leases may not."""


class Command(BaseCommand):
    help = (
        "Pick up what has been forgotten: jobs of dead workers, votes whose undo time is over, unheard calls, notices."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="look once and end")

    def handle(self, *args: Any, **options: Any) -> None:
        beside = [threading.Thread(target=run, args=[threading.Event()], daemon=True) for run in BESIDE]
        if options["once"]:
            notifier.tick()
            retention.tick()
        else:
            for thread in beside:
                thread.start()
        while True:
            try:
                reaper.tick()
            except (OperationalError, InterfaceError) as error:
                log.warning("the database did not answer: %s", error)
            if options["once"]:
                return
            if not all(thread.is_alive() for thread in beside):
                raise CommandError(
                    "Nobody is told any more, or no data deleted when its time is over: the lines above say why. "
                    "Start the reaper again."
                )
            close_old_connections()
            time.sleep(TICK_SECONDS)
