"""A participant's open page, which asks and is told as `static/studio/live.js` does."""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import websockets
from websockets.typing import Origin

from benchmarks.load.browser import Answer, Browser

LIVE = re.compile(r'id="live" data-state="(\w+)"[^>]* data-every="(\d+)" hx-get="([^"]+)"')
BALLOT = re.compile(r'<form id="ballot".*?</form>', re.DOTALL)
HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')
LETTER = re.compile(r'data-letter="(\w)"')
MEDIUM = re.compile(r'"(/clip/[\w-]+/(?:poster/)?)"')
STATIC = re.compile(r'(?:src|href)="(/(?:static|words|scripts)/[^"]+)"')
WATCHED = '{"load_ms": 400, "decide_ms": 9000, "plays": 3, "enough": 1}'
TELL_SECONDS = 30.0
"""How often a page tells how its videos are watched."""
OWN_SECONDS = 0.5
"""For so long after a vote a page takes what it is told for that vote."""
AGAIN_SECONDS = 5.0
"""How often a page asks again that was refused or got no answer."""
WAITING = ("waiting", "others")
"""Pages that ask for their progress, as often as the server says."""
HTMX = {"HX-Request": "true"}


@dataclass
class Records:
    """What all people saw."""

    seconds: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    failures: Counter[str] = field(default_factory=Counter)
    votes: dict[str, list[str]] = field(default_factory=dict)
    """The page's token and the letters of best and worst of each vote that was acknowledged."""

    async def time(self, name: str, asking: Awaitable[Answer], expected: tuple[int, ...] = (200,)) -> Answer | None:
        """The answer; None if there is none that was expected, which is counted."""
        began = time.perf_counter()
        try:
            answer = await asking
        except (OSError, EOFError, TimeoutError) as error:
            self.failures[f"{name}: {type(error).__name__}"] += 1
            return None
        if answer.status not in expected:
            self.failures[f"{name}: {answer.status}"] += 1
            return None
        self.seconds[name].append(time.perf_counter() - began)
        return answer


class Person:
    def __init__(self, browser: Browser, link: str, records: Records, draw: random.Random) -> None:
        self.browser, self.link, self.records, self.draw = browser, link, records, draw
        self.state, self.ask_at = "", ""
        """The page's name, and where it asks for news."""
        self.every = 3.0
        """After how many seconds it asks again while it waits."""
        self.seen_at: dict[str, float] = {}
        """When each page was shown last."""
        self.told_at: list[float] = []
        self.ballot = ""
        self.own_until = 0.0
        """Until then it takes what it is told for its own vote, which it shows already."""
        self.wanted = asyncio.Event()
        self.unanswered = False
        """Whether its last question got no answer, so that it asks again."""
        self.tasks: list[asyncio.Task[None]] = []

    async def open(self, name: str = "page opens") -> str:
        """The page."""
        answer = await self.records.time(name, self.browser.get(self.link))
        if answer is None:
            return ""
        self.read_page(answer.text)
        self.tasks += [asyncio.create_task(self.listen()), asyncio.create_task(self.ask_on())]
        return answer.text

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.browser.close()

    def read_page(self, html: str) -> None:
        """Show a page."""
        found = LIVE.search(html)
        if found is None:
            self.records.failures["a page without its state"] += 1
            return
        before, (self.state, every, self.ask_at) = self.state, found.groups()
        self.every = float(every)
        self.seen_at[self.state] = time.time()
        form = BALLOT.search(html)
        self.ballot = form[0] if form else ""
        if self.state == "review" != before:
            self.tasks.append(asyncio.create_task(self.watch(html)))

    # --- what the page does by itself ---

    async def listen(self) -> None:
        """Hear that something changed; connect again when the connection is lost."""
        address = self.browser.site.replace("http", "ws", 1) + f"/ws{self.link}"
        cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.browser.cookies.items())}
        connect = partial(websockets.connect, address, origin=Origin(self.browser.site), additional_headers=cookie)
        while True:
            began = time.perf_counter()
            with suppress(OSError, websockets.WebSocketException, TimeoutError):
                async with connect(compression=None, ping_interval=None, open_timeout=60) as socket:
                    self.records.seconds["websocket opens"].append(time.perf_counter() - began)
                    self.wanted.set()
                    async for message in socket:
                        if json.loads(message)["type"] == "changed":
                            self.told_at.append(time.time())
                            if time.monotonic() > self.own_until:
                                self.wanted.set()
            self.records.failures["websocket closed"] += 1
            await asyncio.sleep(1)

    async def ask_on(self) -> None:
        """Ask for news when told, every few seconds while waiting, and after a question without an answer: one at a
        time.
        """
        await asyncio.sleep(self.draw.uniform(0, self.every))
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.wanted.wait(), AGAIN_SECONDS if self.unanswered else self.every)
            if self.wanted.is_set() or self.unanswered or self.state in WAITING:
                name = "told page asks" if self.wanted.is_set() else "waiting page asks"
                self.wanted.clear()
                await self.ask(name)

    async def ask(self, name: str) -> None:
        asked = self.ask_at
        answer = await self.records.time(name, self.browser.get(asked, **HTMX), (200, 204))
        self.unanswered = answer is None
        if answer and "x-ask-again" in answer.headers:
            self.every = float(answer.headers["x-ask-again"])
        if answer and answer.headers.get("hx-retarget") == "#state" and self.ask_at == asked:
            self.read_page(answer.text)

    async def watch(self, html: str) -> None:
        """Load stills and videos, and tell how they are watched."""
        tab = self.browser.open_tab()
        began = time.perf_counter()
        for address in dict.fromkeys(MEDIUM.findall(html)):
            await self.records.time("still or video", tab.get(address), (200, 206))
        self.records.seconds["all videos are there"].append(time.perf_counter() - began)
        self.seen_at["videos"] = time.time()
        await tab.close()
        while self.state == "review":
            await asyncio.sleep(TELL_SECONDS)
            if self.state == "review":
                await self.send_telemetry()

    async def send_telemetry(self) -> None:
        fields = self.read_form() | {"sitting": "0123456789abcdef", "client": WATCHED}
        await self.records.time("watching told", self.browser.post(f"{self.link}viewing/", fields), (204,))

    # --- what the person does ---

    def read_form(self) -> dict[str, str]:
        return dict(HIDDEN.findall(self.ballot))

    async def vote(self, twice: bool) -> None:
        """Confirm best and worst, perhaps with two presses at once; then the page asks where it is."""
        form, fields = self.ballot, self.read_form()
        best, worst = self.draw.sample(sorted(set(LETTER.findall(form))), 2)
        sent = fields | {"best": best, "worst": worst, "client": WATCHED}
        action = f"{self.link}vote/"
        tabs = [self.browser, self.browser.open_tab()] if twice else [self.browser]
        self.own_until = math.inf
        presses = [self.records.time("vote acknowledged", tab.post(action, sent, **HTMX), (302,)) for tab in tabs]
        answers = await asyncio.gather(*presses)
        for tab in tabs[1:]:
            await tab.close()
        if any(answers):
            self.records.votes[fields["screening"]] = [best, worst]
        page = await self.records.time("page after the vote", self.browser.get(self.link, **HTMX))
        if page:
            self.read_page(page.text)
            if self.state == "review":
                self.records.failures["a vote that the next page does not know"] += 1
        self.own_until = time.monotonic() + OWN_SECONDS
        await self.records.time(
            "watching told",
            self.browser.post(f"{self.link}viewing/", fields | {"sitting": "0123456789abcdef", "client": WATCHED}),
            (204,),
        )


async def arrive(browser: Browser, entry: str, records: Records, draw: random.Random) -> Person | None:
    """Somebody from a recruitment site: entry page with its files, consent, first page; then they read and go on."""
    page = await records.time("entry page", browser.get(entry))
    if page is None:
        return None
    files = await load_files(browser, page.text, records, set())
    await asyncio.sleep(draw.uniform(1, 3))
    fields = dict(HIDDEN.findall(page.text)) | {"agree": "yes"}
    agreed = await records.time("consent", browser.post(entry, fields), (302,))
    if agreed is None:
        return None
    person = Person(browser, agreed.headers["location"], records, draw)
    first = await person.open("first page")
    await load_files(browser, first, records, files)
    await asyncio.sleep(draw.uniform(1, 3))
    form = dict(HIDDEN.findall(first))
    await records.time("ready", browser.post(f"{person.link}ready/", form, **HTMX), (302,))
    page = await records.time("page after it", browser.get(person.link, **HTMX))
    if page:
        person.read_page(page.text)
    return person


async def load_files(browser: Browser, html: str, records: Records, known: set[str]) -> set[str]:
    """Load scripts, styles and pictures that this browser does not have yet; all that it has then."""
    files = set(STATIC.findall(html))
    for address in sorted(files - known):
        await records.time("file", browser.get(address))
    return files | known
