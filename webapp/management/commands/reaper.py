from __future__ import annotations

import logging
import threading
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import InterfaceError, OperationalError, close_old_connections

from webapp import reaper
from webapp.archive import retention
from webapp.base.database import PollSchedule
from webapp.notices import notifier

log = logging.getLogger(__name__)

BESIDE = (notifier.run, retention.run)
"""In threads of their own: mail servers and the deletion of a study take their time, and leases may not."""


def tick_and_rest(watch: PollSchedule) -> None:
    """Do what is to be done, and note when to look again. A database that is away is asked again."""
    try:
        reaper.tick()
        watch.rest(reaper.seconds_to_next())
    except (OperationalError, InterfaceError) as error:
        log.warning("the database did not answer: %s", error)


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
        watch = PollSchedule()
        while True:
            if watch.is_due():
                tick_and_rest(watch)
            if options["once"]:
                return
            if not all(thread.is_alive() for thread in beside):
                raise CommandError(
                    "Nobody is told any more, or no data deleted when its time is over: the lines above say why. "
                    "Start the reaper again."
                )
            close_old_connections()
            time.sleep(reaper.TICK_SECONDS)
