"""Push new events to this process's websockets by tailing the outbox (docs/decisions/0004-outbox.md)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from channels.db import database_sync_to_async
from django.db import InterfaceError, OperationalError

from webapp.base.database import PollSchedule
from webapp.experiments.models import Event
from webapp.studies.models import Assignment

log = logging.getLogger(__name__)

POLL_SECONDS = 0.2
WINDOW_SECONDS = 10.0
"""A row may appear after one with a higher id, because its transaction committed later. So this long is read again."""
RETRY_SECONDS = 1.0
LOOK_SECONDS = 60.0
"""The rights of those who have a bench page open are checked this often, also while nothing happens."""
MOST_WAITING = 500
"""Messages for one page; one that takes them more slowly than they come is to catch up from the outbox."""
BEHIND = {"type": "tail.behind"}
Row = tuple[int, int, str, str, bool]
Page = tuple[str, int]
"""What an open page is about: ("bench", an experiment's key) or ("studio", a participant's)."""
Inbox = asyncio.Queue[dict[str, Any]]


def new_inbox() -> Inbox:
    return asyncio.Queue(MOST_WAITING)


def put(inbox: Inbox, message: dict[str, Any]) -> None:
    """The last place is for the word that there would have been more."""
    if not inbox.full():
        inbox.put_nowait(message if inbox.qsize() < MOST_WAITING - 1 else BEHIND)


@dataclass
class Window:
    """Which events are new, when ids may appear out of order."""

    floor: int
    """Everything up to here is old."""
    seen: set[int] = field(default_factory=set)
    marks: deque[tuple[float, int]] = field(default_factory=deque)
    """(time, highest id seen by then)."""

    def new(self, rows: list[Row], now: float) -> list[Row]:
        """The rows not given out before; moves the floor up to what was the highest id a window ago."""
        fresh = [row for row in rows if row[0] not in self.seen]
        self.seen.update(row[0] for row in fresh)
        self.marks.append((now, max([row[0] for row in rows], default=self.floor)))
        while self.marks[0][0] < now - WINDOW_SECONDS:
            self.floor = max(self.floor, self.marks.popleft()[1])
        self.seen = {number for number in self.seen if number > self.floor}
        return fresh


class Tail:
    """One per process and event loop; runs while at least one websocket is open.

    What is new is read once for all pages, and put into their inboxes without waiting for anybody.
    """

    def __init__(self) -> None:
        self.inboxes: defaultdict[Page, set[Inbox]] = defaultdict(set)
        self.task: asyncio.Task[None] | None = None
        self.reading = asyncio.Event()
        self.looked = 0.0

    async def join(self, page: Page, inbox: Inbox) -> None:
        """Returns when every event from now on is passed on."""
        self.inboxes[page].add(inbox)
        if self.task is None or self.task.done():
            self.reading = asyncio.Event()
            self.task = asyncio.get_running_loop().create_task(self.run(self.reading))
            self.task.add_done_callback(self.ended)
        await self.reading.wait()

    def leave(self, page: Page, inbox: Inbox) -> None:
        self.inboxes[page].discard(inbox)
        if not self.inboxes[page]:
            del self.inboxes[page]

    def ended(self, task: asyncio.Task[None]) -> None:
        """After an error that nobody foresaw pages are to come again, and the first that does starts another run."""
        if task.cancelled() or (error := task.exception()) is None:
            return
        log.error("nobody is told of events until a page comes again: %s", error, exc_info=error)
        self.reading.set()
        for inboxes in self.inboxes.values():
            for inbox in inboxes:
                put(inbox, BEHIND)

    async def run(self, reading: asyncio.Event) -> None:
        """Poll and pass on until the last page is gone. A database that is away is asked again."""
        window: Window | None = None
        watch = PollSchedule()
        while self.inboxes:
            try:
                if window is None:
                    window = Window(await database_sync_to_async(newest)())
                    reading.set()
                if watch.is_due():
                    self.push(*await database_sync_to_async(news)(window))
                    watch.rest(LOOK_SECONDS)
                self.have_rights_looked_at(time.monotonic())
                await asyncio.sleep(POLL_SECONDS)
            except (OperationalError, InterfaceError) as error:
                log.warning("cannot read the outbox: %s", error)
                await asyncio.sleep(RETRY_SECONDS)

    def push(self, rows: Sequence[Row], people: Iterable[int]) -> None:
        """Each event to the bench; one "changed" to each of these participants."""
        for number, experiment_id, kind, text, _ in rows:
            for inbox in self.inboxes.get(("bench", experiment_id), ()):
                put(inbox, {"type": "bench.event", "id": number, "kind": kind, "text": text})
        for person in people:
            for inbox in self.inboxes.get(("studio", person), ()):
                if inbox.empty():  # what waits there says the same
                    put(inbox, {"type": "studio.changed"})

    def have_rights_looked_at(self, now: float) -> None:
        if now < self.looked + LOOK_SECONDS:
            return
        self.looked = now
        for (kind, _), inboxes in self.inboxes.items():
            for inbox in inboxes if kind == "bench" else ():
                put(inbox, {"type": "bench.look"})


tail = Tail()


def newest() -> int:
    return Event.objects.order_by("-id").values_list("id", flat=True).first() or 0


def read(floor: int) -> list[Row]:
    rows = Event.objects.filter(id__gt=floor).order_by("id")
    return list(rows.values_list("id", "experiment_id", "kind", "text", "public"))


def news(window: Window) -> tuple[list[Row], list[int]]:
    """What has not been passed on yet, and the participants whose pages it may change."""
    rows = read(window.floor)
    public = {row[1] for row in rows if row[4] and row[0] not in window.seen}
    people = (
        Assignment.objects.filter(experiment__in=public).order_by().values_list("participant", flat=True).distinct()
    )
    told = list(people)  # asked before the window moves: where the database goes away here, all is read again
    return window.new(rows, time.monotonic()), told
