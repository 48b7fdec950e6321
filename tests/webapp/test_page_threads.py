"""Requests run on few threads: a vote waits for no page, and threads keep their database connections."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable

import pytest
from asgiref.testing import ApplicationCommunicator
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import path
from django.utils.deprecation import MiddlewareMixin

from webapp.base import page_threads
from webapp.base.page_threads import CLIPS, FILES, PAGES, STAFF, THREADS, VOTES, PageHandler

go_on = threading.Event()
saved = threading.Event()
seen: list[tuple[str, int]] = []
connected: list[object] = []
in_loops: list[bool] = []


def answer(request: HttpRequest) -> HttpResponse:
    """Pages wait until they may go on; what is sent is answered at once."""
    if request.method == "GET" and not go_on.wait(30):
        return HttpResponse(status=504)
    seen.append((threading.current_thread().name, threading.get_ident()))
    return HttpResponse("answered")


def connect(request: HttpRequest) -> HttpResponse:
    connection.ensure_connection()
    connected.append(connection.connection)
    return HttpResponse("connected")


def save(request: HttpRequest) -> HttpResponse:
    """A vote that takes until `saved` is set."""
    saved.wait(30)
    seen.append((VOTES, 0))
    return HttpResponse("saved")


class Neighbour(MiddlewareMixin):
    """A middleware that could run in an event loop, like most of Django's."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        super().__init__(get_response)
        in_loops.append(self.async_mode)


urlpatterns = [
    path("page/", answer),
    path("clip/page/", answer),
    path("static/page/", answer),
    path("bench/page/", answer),
    path("connect/", connect),
    path("save/", save),
]


@pytest.fixture
def handler():
    go_on.clear()
    saved.clear()
    seen.clear()
    with override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=[], ALLOWED_HOSTS=["*"]):
        yield PageHandler()
    go_on.set()
    saved.set()


def ask(handler: PageHandler, method: str, address: str = "/page/") -> ApplicationCommunicator:
    scope = {"type": "http", "method": method, "path": address, "query_string": b"", "headers": []}
    return ApplicationCommunicator(handler, scope)


async def read_status(asked: ApplicationCommunicator) -> int:
    answer = await asked.receive_output(30)
    return answer["status"]


async def take_all(handler: PageHandler, group: str) -> None:
    """Wait until the requests hold all threads of the group."""
    async with asyncio.timeout(30):
        while not handler.free[group].empty():
            await asyncio.sleep(0.01)


async def send_all(asked: list[ApplicationCommunicator]) -> None:
    for one in asked:
        await one.send_input({"type": "http.request"})


async def test_what_is_sent_and_staff_wait_for_no_page_of_people(handler):
    pages = [ask(handler, "GET") for _ in range(3 * THREADS[PAGES])]
    await send_all(pages)
    await take_all(handler, PAGES)
    vote = ask(handler, "POST")
    await send_all([vote])
    assert await read_status(vote) == 200
    go_on.set()
    staff = ask(handler, "GET", "/bench/page/")
    await send_all([staff])
    assert await read_status(staff) == 200
    assert [await read_status(page) for page in pages] == [200] * len(pages)
    for one in (*pages, vote, staff):
        await one.wait()
    assert {group: queue.qsize() for group, queue in handler.free.items()} == THREADS
    assert sum(name.startswith(PAGES) for name, _ in seen) == len(pages)
    assert len({number for name, number in seen if name.startswith(PAGES)}) == THREADS[PAGES]


async def test_files_of_pages_do_not_wait_for_clips(handler):
    clips = [ask(handler, "GET", "/clip/page/") for _ in range(THREADS[CLIPS])]
    await send_all(clips)
    await take_all(handler, CLIPS)
    assert handler.free[FILES].qsize() == THREADS[FILES]
    go_on.set()
    file = ask(handler, "GET", "/static/page/")
    await send_all([file])
    assert await read_status(file) == 200
    for one in (*clips, file):
        await one.wait(30)


def test_a_request_does_not_go_back_to_the_event_loop_for_each_middleware():
    in_loops.clear()
    with override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=[f"{__name__}.Neighbour"] * 2):
        PageHandler()
    assert in_loops == [False, False]


@pytest.mark.parametrize(("longest", "first"), [(30, VOTES), (0.01, PAGES)])
async def test_a_page_begins_after_the_votes_but_not_much_later(handler, monkeypatch, longest, first):
    monkeypatch.setattr(page_threads, "LONGEST_HOLD", longest)
    go_on.set()
    vote, page = ask(handler, "POST", "/save/"), ask(handler, "GET")
    await send_all([vote])
    async with asyncio.timeout(30):
        while not handler.votes:
            await asyncio.sleep(0.01)
    await send_all([page])
    if first == PAGES:
        assert await read_status(page) == 200
    asyncio.get_running_loop().call_later(0.1, saved.set)
    assert await read_status(vote) == 200
    if first == VOTES:
        assert await read_status(page) == 200
    for one in (vote, page):
        await one.wait()
    assert [name.split()[0] for name, _ in seen] == [first, {VOTES: PAGES, PAGES: VOTES}[first]]


@pytest.mark.filterwarnings("ignore:Unclosed file:ResourceWarning")  # Django's, of requests whose visitor left
async def test_a_visitor_who_sends_slowly_or_leaves_holds_no_thread(handler):
    slow = [ask(handler, "POST") for _ in range(2 * THREADS[VOTES])]
    for one in slow:
        await one.send_input({"type": "http.request", "body": b"a", "more_body": True})
    gone = [ask(handler, "GET", "/bench/page/") for _ in range(THREADS[STAFF])]
    await send_all(gone)
    await take_all(handler, STAFF)
    for one in gone:
        await one.send_input({"type": "http.disconnect"})
    vote = ask(handler, "POST")
    await send_all([vote])
    assert await read_status(vote) == 200
    go_on.set()
    for one in (*gone, vote):
        await one.wait(30)
    staff = ask(handler, "GET", "/bench/page/")
    await send_all([staff])
    assert await read_status(staff) == 200
    for one in slow:
        await one.send_input({"type": "http.disconnect"})
        await one.wait(30)
    del gone, slow, one
    gc.collect()  # here, where the warning is expected


@pytest.mark.django_db(transaction=True)
async def test_threads_keep_their_connections_until_these_are_old(handler):
    was = connection.settings_dict["CONN_MAX_AGE"]
    try:
        for age, connections in ((60, 1), (0, 2)):
            connection.settings_dict["CONN_MAX_AGE"] = age  # also that of other threads: they share the dictionary
            handler.free[VOTES] = asyncio.Queue()
            handler.free[VOTES].put_nowait(page_threads.ThreadPoolExecutor(1, VOTES))
            connected.clear()
            for _ in range(2):
                vote = ask(handler, "POST", "/connect/")
                await send_all([vote])
                assert await read_status(vote) == 200
                await vote.wait()
            assert len(set(map(id, connected))) == connections
            handler.free[VOTES].get_nowait().submit(lambda: connection.close()).result()
    finally:
        connection.settings_dict["CONN_MAX_AGE"] = was
