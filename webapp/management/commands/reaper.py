from __future__ import annotations

import logging
import threading
import time
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import InterfaceError, OperationalError, close_old_connections

from webapp import reaper
from webapp.archive import retention
from webapp.base.commands import PrefineCommand
from webapp.base.database import BLIND_SECONDS, PollSchedule
from webapp.base.private_files import write_private_files
from webapp.notices import notifier

log = logging.getLogger(__name__)

BEAT = "reaper.beat"
"""A file in the data folder that is touched every second: a container's health check looks at its age."""
THREADS = (notifier.run, retention.run)
"""Run in threads of their own: mail servers and deletions may be slow, and taking back leases may not."""


def tick_and_rest(watch: PollSchedule) -> None:
    """Run a tick and set the time of the next. A database that does not answer is asked again."""
    try:
        reaper.tick()
        watch.rest(reaper.count_seconds_to_next())
    except (OperationalError, InterfaceError) as error:
        log.warning("the database did not answer: %s", error)


class Command(PrefineCommand):
    help = "Take up what was left behind: jobs of dead workers, votes whose undo time is over, lost messages, notices."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="look once and end")

    def handle(self, *args: Any, **options: Any) -> None:
        write_private_files()
        threads = [threading.Thread(target=run, args=[threading.Event()], daemon=True) for run in THREADS]
        if options["once"]:
            notifier.tick()
            retention.tick()
        else:
            for thread in threads:
                thread.start()
        watch = PollSchedule(BLIND_SECONDS)
        while True:
            if watch.is_due():
                tick_and_rest(watch)
            if options["once"]:
                return
            if not all(thread.is_alive() for thread in threads):
                raise CommandError(
                    "A thread of the reaper ended, which sends notices or deletes data; the lines above say why. "
                    "Start the reaper again."
                )
            close_old_connections()
            (settings.DATA_DIR / BEAT).touch()
            time.sleep(reaper.TICK_SECONDS)
