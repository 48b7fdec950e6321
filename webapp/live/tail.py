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
"""How long rows are read again: a row may appear after one with a higher id, because it was committed later."""
RETRY_SECONDS = 1.0
RIGHTS_SECONDS = 60.0
"""The rights of open bench pages are checked this often, also without events."""
MOST_WAITING = 500
"""How many messages may wait for one page; a slower page must catch up from the outbox."""
BEHIND = {"type": "tail.behind"}
Row = tuple[int, int, str, str, bool, str | None]
"""An event: id, experiment, kind, text, whether it is public, and the label of the only participant it is for."""
PageKey = tuple[str, int]
"""An open page: ("bench", an experiment's primary key) or ("studio", a participant's)."""
MessageQueue = asyncio.Queue[dict[str, Any]]


def make_queue() -> MessageQueue:
    return asyncio.Queue(MOST_WAITING)


def put_message(queue: MessageQueue, message: dict[str, Any]) -> None:
    """Queue a message; the last place in the queue is for BEHIND, which says that messages were lost."""
    if not queue.full():
        queue.put_nowait(message if queue.qsize() < MOST_WAITING - 1 else BEHIND)


@dataclass
class Window:
    """Finds out which events are new although ids may appear out of order."""

    floor: int
    """Everything up to here is old."""
    seen: set[int] = field(default_factory=set)
    marks: deque[tuple[float, int]] = field(default_factory=deque)
    """(time, highest id seen by then)."""

    def take_new(self, rows: list[Row], now: float) -> list[Row]:
        """The rows that were not returned before; raises the floor to the highest id of one window ago."""
        fresh = [row for row in rows if row[0] not in self.seen]
        self.seen.update(row[0] for row in fresh)
        self.marks.append((now, max([row[0] for row in rows], default=self.floor)))
        while self.marks[0][0] < now - WINDOW_SECONDS:
            self.floor = max(self.floor, self.marks.popleft()[1])
        self.seen = {number for number in self.seen if number > self.floor}
        return fresh


class Tail:
    """One per process and event loop; runs while at least one websocket is open.

    New events are read once for all pages and put into their queues without waiting.
    """

    def __init__(self) -> None:
        self.queues: defaultdict[PageKey, set[MessageQueue]] = defaultdict(set)
        self.task: asyncio.Task[None] | None = None
        self.reading = asyncio.Event()
        self.checked_at = 0.0

    async def subscribe(self, page: PageKey, queue: MessageQueue) -> None:
        """Add a page; returns when every later event is passed on to it."""
        self.queues[page].add(queue)
        if self.task is None or self.task.done():
            self.reading = asyncio.Event()
            self.task = asyncio.get_running_loop().create_task(self.run(self.reading))
            self.task.add_done_callback(self.handle_end)
        await self.reading.wait()

    def count_pages(self, page: PageKey) -> int:
        return len(self.queues.get(page, ()))

    def unsubscribe(self, page: PageKey, queue: MessageQueue) -> None:
        self.queues[page].discard(queue)
        if not self.queues[page]:
            del self.queues[page]

    def handle_end(self, task: asyncio.Task[None]) -> None:
        """After an unexpected error, make pages connect again; the first one starts another run."""
        if task.cancelled() or (error := task.exception()) is None:
            return
        log.error("events are not passed on until a page connects again: %s", error, exc_info=error)
        self.reading.set()
        for queues in self.queues.values():
            for queue in queues:
                put_message(queue, BEHIND)

    async def run(self, reading: asyncio.Event) -> None:
        """Read events and pass them on until the last page is closed. If the database is away, try again."""
        window: Window | None = None
        watch = PollSchedule()
        while self.queues:
            try:
                if window is None:
                    window = Window(await database_sync_to_async(find_newest_id)())
                    reading.set()
                if watch.is_due():
                    self.push(*await database_sync_to_async(collect_news)(window))
                    watch.rest(RIGHTS_SECONDS)
                self.request_rights_checks(time.monotonic())
                await asyncio.sleep(POLL_SECONDS)
            except (OperationalError, InterfaceError) as error:
                log.warning("cannot read the outbox: %s", error)
                await asyncio.sleep(RETRY_SECONDS)

    def push(self, rows: Sequence[Row], people: Iterable[int]) -> None:
        """Each event to the bench; one "changed" to each of these participants."""
        for number, experiment_id, kind, text, *_ in rows:
            for queue in self.queues.get(("bench", experiment_id), ()):
                put_message(queue, {"type": "bench.event", "id": number, "kind": kind, "text": text})
        for person in people:
            for queue in self.queues.get(("studio", person), ()):
                if queue.empty():  # a waiting message says the same
                    put_message(queue, {"type": "studio.changed"})

    def request_rights_checks(self, now: float) -> None:
        if now < self.checked_at + RIGHTS_SECONDS:
            return
        self.checked_at = now
        for (kind, _), queues in self.queues.items():
            for queue in queues if kind == "bench" else ():
                put_message(queue, {"type": "bench.check_rights"})


tail = Tail()


def find_newest_id() -> int:
    return Event.objects.order_by("-id").values_list("id", flat=True).first() or 0


def read_events(floor: int) -> list[Row]:
    rows = Event.objects.filter(id__gt=floor).order_by("id")
    return list(rows.values_list("id", "experiment_id", "kind", "text", "public", "payload__only"))


def collect_news(window: Window) -> tuple[list[Row], list[int]]:
    """The events that have not been passed on yet, and the participants whose pages they may change."""
    rows = read_events(window.floor)
    public = {(row[1], row[5]) for row in rows if row[4] and row[0] not in window.seen}
    places = Assignment.objects.filter(experiment__in={experiment for experiment, _ in public}).order_by()
    members = list(places.values_list("experiment", "participant", "participant__label"))
    # People are read before the window moves, so that a failure here loses no event.
    people = {person for experiment, person, label in members if {(experiment, None), (experiment, label)} & public}
    return window.take_new(rows, time.monotonic()), sorted(people)
