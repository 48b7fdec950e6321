"""Websockets: they tell pages about events and never write to the database."""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs

from channels.consumer import get_handler_name
from channels.db import database_sync_to_async
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from channels.utils import await_many_dispatch

from webapp.accounts import sessions
from webapp.base.http import strip_nul
from webapp.experiments.models import Event, Experiment
from webapp.live.tail import MessageQueue, PageKey, make_queue, tail
from webapp.studies.models import Participant

RIGHTS_SECONDS = 10.0
"""A page's rights are checked again if its last check is older than this when an event is delivered."""
NOT_FOUND = 4404
FORBIDDEN = 4403
TRY_AGAIN_LATER = 1013
CATCH_UP = 500
"""How many missed events a page is sent at most."""
CHANGED = '{"type": "changed"}'
MOST_PAGES = {"studio": 20, "bench": 200}
"""How many pages of one participant, and of one experiment for all staff, are told of events at once. Others ask
every few seconds."""
RESERVED_FILES = 256
"""Open files that are kept for everything but websockets."""


def count_most_sockets() -> int:
    """How many websockets this process may have: the supervisor raises the limit of open files."""
    return max(100, min(10_000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - RESERVED_FILES))


MOST_SOCKETS = count_most_sockets()
LEAST_ASK_SECONDS = 3
ASKS_PER_SECOND = 8
"""How many waiting pages ask this process for their progress each second at most; each takes some 20 ms."""


class EventConsumer(AsyncJsonWebsocketConsumer):  # type: ignore[misc]
    """Passes one page's events on from the tail, catches up from the outbox, answers pings."""

    page: PageKey | None = None
    sockets = 0
    """The open websockets of this process, refused ones included."""

    async def __call__(
        self, scope: dict[str, Any], receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
    ) -> None:
        """As in Channels, with the tail's message queue in place of a channel layer."""
        self.scope, self.base_send = scope, send
        self.queue: MessageQueue = make_queue()
        if EventConsumer.sockets >= MOST_SOCKETS:
            await self.close(TRY_AGAIN_LATER)
            return
        EventConsumer.sockets += 1
        try:
            with suppress(StopConsumer):
                await await_many_dispatch([receive, self.queue.get], self.dispatch)
        finally:
            EventConsumer.sockets -= 1
            if self.page:
                tail.unsubscribe(self.page, self.queue)

    async def dispatch(self, message: dict[str, Any]) -> None:
        """As in Channels, without its check of old database connections, which costs a thread switch per message."""
        await getattr(self, get_handler_name(message))(message)

    async def listen(self, page: PageKey) -> None:
        """Subscribe to the tail's messages. This comes before catching up, so that no event is missed in between."""
        if tail.count_pages(page) >= MOST_PAGES[page[0]]:
            await self.end(TRY_AGAIN_LATER)
        self.page = page
        await tail.subscribe(page, self.queue)
        await self.accept()

    async def end(self, code: int) -> None:
        """Close, and take nothing more from the queue."""
        await self.close(code)
        raise StopConsumer

    async def tail_behind(self, message: dict[str, Any]) -> None:
        """The queue was full and messages were lost: the page connects again and catches up."""
        await self.end(TRY_AGAIN_LATER)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **kwargs: Any) -> None:
        """Ignore empty and binary messages, for which Channels would raise an error."""
        if text_data:
            await super().receive(text_data)

    async def receive_json(self, content: Any, **kwargs: Any) -> None:
        if isinstance(content, dict) and content.get("type") == "ping":
            await self.send_json({"type": "pong"})

    def read_after(self) -> int | None:
        """The id in ?after=<id>; None if it is missing or not valid."""
        values = parse_qs(self.scope["query_string"].decode(errors="replace")).get("after", [])
        return int(values[0]) if values and values[0].isdecimal() and len(values[0]) < 19 else None

    @classmethod
    async def decode_json(cls, text_data: str) -> Any:
        """The JSON value; None if it is not valid."""
        try:
            return await super().decode_json(text_data)
        except ValueError:
            return None


def compute_ask_seconds() -> int:
    """After how many seconds a page that waits should ask for its progress again. It is told of all other changes."""
    return max(LEAST_ASK_SECONDS, math.ceil(EventConsumer.sockets / ASKS_PER_SECOND))


class StudioConsumer(EventConsumer):
    """A participant's page: it hears that something changed, never what."""

    async def connect(self) -> None:
        found = await database_sync_to_async(find_visitor)(self.scope["url_route"]["kwargs"]["token"])
        if found is None:
            await self.close(NOT_FOUND)
            return
        person_id, experiment_id = found
        await self.listen(("studio", person_id))
        after = self.read_after()
        if after is not None and await database_sync_to_async(find_missed)(experiment_id, after, public=True):
            await self.send(CHANGED)

    async def studio_changed(self, message: dict[str, Any]) -> None:
        await self.send(CHANGED)


class BenchConsumer(EventConsumer):
    """The experimenter's dashboard: each event once, in full."""

    async def connect(self) -> None:
        self.sent: set[int] = set()
        if not await self.check_rights():
            await self.close(FORBIDDEN)
            return
        public_id = str(self.scope["url_route"]["kwargs"]["public_id"])
        experiment_id = await database_sync_to_async(find_experiment)(public_id)
        if experiment_id is None:
            await self.close(NOT_FOUND)
            return
        await self.listen(("bench", experiment_id))
        after = self.read_after()
        if after is not None:
            for number, kind, text in await database_sync_to_async(find_missed)(experiment_id, after):
                await self.bench_event({"id": number, "kind": kind, "text": text})

    async def check_rights(self) -> bool:
        """Whether this session may still see events: signed in, active, staff, with the second factor if required."""
        self.checked_at = time.monotonic()
        return bool(await database_sync_to_async(sessions.is_staff)(self.scope["session"].session_key))

    async def bench_event(self, message: dict[str, Any]) -> None:
        if message["id"] in self.sent:
            return
        if time.monotonic() > self.checked_at + RIGHTS_SECONDS:
            await self.bench_check_rights(message)
        self.sent.add(message["id"])
        await self.send_json({**message, "type": "event"})

    async def bench_check_rights(self, message: dict[str, Any]) -> None:
        if not await self.check_rights():
            await self.end(FORBIDDEN)


def find_visitor(token: str) -> tuple[int, int] | None:
    """The participant of a link and their newest experiment; None for an unknown link, after withdrawal and before
    the start.
    """
    person = Participant.objects.filter(token=strip_nul(token), withdrawn_at=None).first()
    places = person.assignments.exclude(experiment=None).order_by("position") if person else None
    place = places.last() if places is not None else None
    return (person.pk, place.experiment_id) if person and place and place.experiment_id else None


def find_experiment(public_id: str) -> int | None:
    return Experiment.objects.filter(public_id=public_id).values_list("pk", flat=True).first()


def find_missed(experiment_id: int, after: int, public: bool = False) -> list[tuple[int, str, str]]:
    """The events after `after` that this page should see."""
    rows = Event.objects.filter(experiment_id=experiment_id, id__gt=after).order_by("id")
    if public:
        rows = rows.filter(public=True)
    return list(rows.values_list("id", "kind", "text")[:CATCH_UP])
