"""Push new events to this process's websockets by tailing the outbox (docs/decisions/0004-outbox.md)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from dataclasses import dataclass, field

from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.db import InterfaceError, OperationalError

from webapp.experiments.models import Event

log = logging.getLogger(__name__)

POLL_SECONDS = 0.2
WINDOW_SECONDS = 10.0
"""A row may appear after one with a higher id, because its transaction committed later. So this long is read again."""
RETRY_SECONDS = 1.0
Row = tuple[int, int, str, str, bool]


def bench_group(experiment_id: int) -> str:
    return f"bench.{experiment_id}"


def studio_group(experiment_id: int) -> str:
    return f"studio.{experiment_id}"


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
    """One per process and event loop; runs while at least one websocket is open."""

    def __init__(self) -> None:
        self.sockets = 0
        self.task: asyncio.Task[None] | None = None
        self.reading = asyncio.Event()

    async def join(self) -> None:
        """Returns when every event from now on is passed on."""
        self.sockets += 1
        if self.task is None or self.task.done():
            self.reading = asyncio.Event()
            self.task = asyncio.get_running_loop().create_task(self.run(self.reading))
        await self.reading.wait()

    def leave(self) -> None:
        self.sockets -= 1

    async def run(self, reading: asyncio.Event) -> None:
        """Poll and pass on until the last socket is gone. A database that is away is asked again."""
        window: Window | None = None
        while self.sockets > 0:
            try:
                if window is None:
                    window = Window(await database_sync_to_async(newest)())
                    reading.set()
                await push(window.new(await database_sync_to_async(read)(window.floor), time.monotonic()))
                await asyncio.sleep(POLL_SECONDS)
            except (OperationalError, InterfaceError) as error:
                log.warning("cannot read the outbox: %s", error)
                await asyncio.sleep(RETRY_SECONDS)


tail = Tail()


def newest() -> int:
    return Event.objects.order_by("-id").values_list("id", flat=True).first() or 0


def read(floor: int) -> list[Row]:
    rows = Event.objects.filter(id__gt=floor).order_by("id")
    return list(rows.values_list("id", "experiment_id", "kind", "text", "public"))


async def push(rows: list[Row]) -> None:
    """Each event to the bench; one "changed" an experiment to its participant."""
    layer = get_channel_layer()
    for number, experiment_id, kind, text, _ in rows:
        message = {"type": "bench.event", "id": number, "kind": kind, "text": text}
        await layer.group_send(bench_group(experiment_id), message)
    for experiment_id in {row[1] for row in rows if row[4]}:
        await layer.group_send(studio_group(experiment_id), {"type": "studio.changed"})
