"""Pages run on few threads that stay, each with its own open connection to the database.

Django begins a thread for each request. On PostgreSQL each then connects and signs in again, which costs more than most
queries, and a thousand pages that ask at once are a thousand connections. It also goes from its event loop to that
thread and back about twenty times a request, for each middleware, which costs more than most views: here all of a
request runs in one go.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import django
from asgiref.sync import ThreadSensitiveContext
from django.core.handlers.asgi import ASGIHandler
from django.db import close_old_connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from webapp.base.http import SAFE_METHODS

VOTES, PAGES, CLIPS, FILES, STAFF = "votes", "pages", "clips", "files", "staff"
THREADS = {VOTES: 8, PAGES: 2, CLIPS: 8, FILES: 4, STAFF: 4}
"""How many requests of each group run at once. More pages at once would only share the processor, and a vote would wait
for all of them. Clips wait for the store, which may be slow or away; files that every page needs do not wait with them.
"""
LONGEST_HOLD = 0.5
"""Seconds for which a page waits at most until no vote is being saved: one thread of a process computes at a time."""
PREFIXES = {
    "/clip/": CLIPS,
    "/view/": CLIPS,
    "/pair/": CLIPS,
    "/static/": FILES,
    "/words/": FILES,
    "/scripts/": FILES,
    "/health/": VOTES,
    "/metrics": STAFF,
    "/bench/": STAFF,
    "/admin/": STAFF,
}
"""The group of these addresses. Of all others, what is sent, such as a vote, waits for no page."""


def find_group(request: HttpRequest) -> str:
    for prefix, group in PREFIXES.items():
        if request.path_info.startswith(prefix):
            return group
    return PAGES if request.method in SAFE_METHODS else VOTES


class PageHandler(ASGIHandler):
    """Answers each request on a free thread of its group. It takes the thread after the whole request has come, and
    gives it back before the answer is sent: a slow visitor holds none.
    """

    def __init__(self) -> None:
        super().__init__()
        self.free: dict[str, asyncio.Queue[Executor]] = {group: asyncio.Queue() for group in THREADS}
        for group, count in THREADS.items():
            for _ in range(count):
                self.free[group].put_nowait(ThreadPoolExecutor(1, f"{group} page"))
        self.signals = ThreadPoolExecutor(1, "signals")
        """Where a request's signals are sent and its answer is closed: short work, apart from that of websockets."""
        self.votes = 0
        """How many requests of the group VOTES are being answered."""
        self.no_votes = asyncio.Event()
        self.no_votes.set()

    def load_middleware(self, is_async: bool = False) -> None:
        """All middleware as plain functions, whatever it could be."""
        super().load_middleware(is_async=False)

    async def __call__(self, scope: dict[str, Any], receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        """As Django's, which begins a thread for the signals of each request."""
        async with ThreadSensitiveContext(executor=self.signals):
            await self.handle(scope, receive, send)

    async def run_get_response(self, request: HttpRequest) -> HttpResponseBase:
        """Answer like Django's method, on one of our threads."""
        group = find_group(request)
        thread = await self.free[group].get()
        try:
            if group == PAGES:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.no_votes.wait(), LONGEST_HOLD)
            with self.hold_pages() if group == VOTES else nullcontext():
                run = contextvars.copy_context().run
                return await asyncio.get_running_loop().run_in_executor(thread, run, self.answer, request)
        finally:
            self.free[group].put_nowait(thread)

    def answer(self, request: HttpRequest) -> HttpResponseBase:
        """All of a request, on this thread."""
        close_old_connections()  # Django's signal that does so runs on another thread
        return self.get_response(request)

    @contextmanager
    def hold_pages(self) -> Iterator[None]:
        """While this lasts no page begins."""
        self.votes += 1
        self.no_votes.clear()
        try:
            yield
        finally:
            self.votes -= 1
            if not self.votes:
                self.no_votes.set()


def make_application() -> PageHandler:
    """The application, like django.core.asgi.get_asgi_application."""
    django.setup(set_prefix=False)
    return PageHandler()
