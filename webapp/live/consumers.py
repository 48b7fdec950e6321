"""Websockets: they tell pages that something happened, and never write."""

from __future__ import annotations

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
from webapp.live.tail import Inbox, Page, new_inbox, tail
from webapp.studies.models import Participant

RIGHTS_SECONDS = 10.0
"""What is delivered later than this after the last look asks again whether the person may still see it."""
NOT_FOUND = 4404
FORBIDDEN = 4403
COME_AGAIN = 1013
CATCH_UP = 500
"""A page that missed more events than this reloads better."""
CHANGED = '{"type": "changed"}'


class EventConsumer(AsyncJsonWebsocketConsumer):  # type: ignore[misc]
    """Hears of one page's events from the tail, catches up from the outbox, answers pings."""

    page: Page | None = None

    async def __call__(
        self, scope: dict[str, Any], receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
    ) -> None:
        """As Channels does it, with the tail's inbox in place of a channel layer's."""
        self.scope, self.base_send = scope, send
        self.inbox: Inbox = new_inbox()
        try:
            with suppress(StopConsumer):
                await await_many_dispatch([receive, self.inbox.get], self.dispatch)
        finally:
            if self.page:
                tail.leave(self.page, self.inbox)

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Without Channels' look at old database connections, which costs a change of threads for every message."""
        await getattr(self, get_handler_name(message))(message)

    async def listen(self, page: Page) -> None:
        """From here on the tail's messages arrive. Before catching up, so that nothing falls between the two."""
        self.page = page
        await tail.join(page, self.inbox)
        await self.accept()

    async def end(self, code: int) -> None:
        """Close, and take nothing more from the inbox."""
        await self.close(code)
        raise StopConsumer

    async def tail_behind(self, message: dict[str, Any]) -> None:
        """Not all messages are there: the page catches up as it connects again."""
        await self.end(COME_AGAIN)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **kwargs: Any) -> None:
        """An empty message and a binary one, which Channels takes for an error of ours, are as good as nothing too."""
        if text_data:
            await super().receive(text_data)

    async def receive_json(self, content: Any, **kwargs: Any) -> None:
        if isinstance(content, dict) and content.get("type") == "ping":
            await self.send_json({"type": "pong"})

    def after(self) -> int | None:
        """The id in ?after=<id>; None without one that an id can be."""
        values = parse_qs(self.scope["query_string"].decode(errors="replace")).get("after", [])
        return int(values[0]) if values and values[0].isdecimal() and len(values[0]) < 19 else None

    @classmethod
    async def decode_json(cls, text_data: str) -> Any:
        """Anything that is not JSON is as good as nothing."""
        try:
            return await super().decode_json(text_data)
        except ValueError:
            return None


class StudioConsumer(EventConsumer):
    """A participant's page: told that something changed, never what."""

    async def connect(self) -> None:
        found = await database_sync_to_async(visitor)(self.scope["url_route"]["kwargs"]["token"])
        if found is None:
            await self.close(NOT_FOUND)
            return
        person_id, experiment_id = found
        await self.listen(("studio", person_id))
        after = self.after()
        if after is not None and await database_sync_to_async(missed)(experiment_id, after, public=True):
            await self.send(CHANGED)

    async def studio_changed(self, message: dict[str, Any]) -> None:
        await self.send(CHANGED)


class BenchConsumer(EventConsumer):
    """The experimenter's dashboard: each event once, in full."""

    async def connect(self) -> None:
        self.sent: set[int] = set()
        if not await self.allowed():
            await self.close(FORBIDDEN)
            return
        public_id = str(self.scope["url_route"]["kwargs"]["public_id"])
        experiment_id = await database_sync_to_async(experiment_with)(public_id)
        if experiment_id is None:
            await self.close(NOT_FOUND)
            return
        await self.listen(("bench", experiment_id))
        after = self.after()
        if after is not None:
            for number, kind, text in await database_sync_to_async(missed)(experiment_id, after):
                await self.bench_event({"id": number, "kind": kind, "text": text})

    async def allowed(self) -> bool:
        """Whether this session may still hear: signed in, active, staff, with the second factor where it is due."""
        self.looked = time.monotonic()
        return bool(await database_sync_to_async(sessions.is_staff)(self.scope["session"].session_key))

    async def bench_event(self, message: dict[str, Any]) -> None:
        if message["id"] in self.sent:
            return
        if time.monotonic() > self.looked + RIGHTS_SECONDS:
            await self.bench_look(message)
        self.sent.add(message["id"])
        await self.send_json({**message, "type": "event"})

    async def bench_look(self, message: dict[str, Any]) -> None:
        if not await self.allowed():
            await self.end(FORBIDDEN)


def visitor(token: str) -> tuple[int, int] | None:
    """The participant behind a link and their experiment, the last one between two; None for a foreign or withdrawn
    one, and before the start.
    """
    person = Participant.objects.filter(token=strip_nul(token), withdrawn_at=None).first()
    places = person.assignments.exclude(experiment=None).order_by("position") if person else None
    place = places.last() if places is not None else None
    return (person.pk, place.experiment_id) if person and place and place.experiment_id else None


def experiment_with(public_id: str) -> int | None:
    return Experiment.objects.filter(public_id=public_id).values_list("pk", flat=True).first()


def missed(experiment_id: int, after: int, public: bool = False) -> list[tuple[int, str, str]]:
    """The events since `after` that this page is to hear of."""
    rows = Event.objects.filter(experiment_id=experiment_id, id__gt=after).order_by("id")
    if public:
        rows = rows.filter(public=True)
    return list(rows.values_list("id", "kind", "text")[:CATCH_UP])
