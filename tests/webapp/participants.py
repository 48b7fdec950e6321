"""Simulated people in real browsers, who remember what they did: by the films that they saw, not by letters."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from tests.webapp.sites import BROWSER, Site

SECONDS = 180_000
TRAINING = 1_200_000
"""Milliseconds: for a page to answer, and for a round to be trained and filmed, on the slowest machine."""
expect.set_options(timeout=SECONDS)
LETTERS = "ABCDEF"
KEYS = """select c.id, i.number || '-' || c."index" from experiments_candidate c join experiments_iteration i
on i.id = c.iteration_id"""
NEW = """(seen) => {
  const ballot = document.querySelector("form#ballot"), live = document.getElementById("live");
  if (ballot && !seen.includes(ballot.dataset.screening)) return ballot.dataset.screening;
  return ["debriefing", "thanks", "failed", "closed", "paused"].includes(live?.dataset.state) && live.dataset.state;
}"""
VIDEOS = """[...document.querySelectorAll('.tile video')].map((one) => [one.closest('.tile').className, one.readyState,
  one.networkState, one.paused, one.seeking, one.currentTime, one.duration, one.error && one.error.message])"""
FILMS = "[...document.querySelectorAll('.tile video')].map((one) => one.dataset.src || one.getAttribute('src'))"
"""A clip that waits for its turn on a slow line has its address set aside."""


@dataclass(frozen=True)
class Pick:
    """A choice: which candidates stood behind the letters at that moment, and the film that came as the best one."""

    best: str
    worst: str | None
    film: bytes
    reason: str = ""


@dataclass
class Memory:
    """The choices of one participant."""

    confirmed: list[Pick] = field(default_factory=list)
    taken_back: list[Pick] = field(default_factory=list)
    orders: list[list[str]] = field(default_factory=list)
    left: bool = False
    winner: bytes = b""
    code: str = ""


@dataclass
class Crowd:
    """All of them, in one Chromium, and the site's database to look behind letters."""

    site: Site
    browser: Browser
    forbidden: tuple[str, ...]
    """Words that no page may contain."""
    memories: dict[str, Memory] = field(default_factory=dict)
    ballots: dict[str, list[str]] = field(default_factory=dict)
    """Person -> tokens of the ballots that they have opened."""
    complaints: list[str] = field(default_factory=list)
    somebody_voted: asyncio.Event = field(default_factory=asyncio.Event)
    somebody_left: asyncio.Event = field(default_factory=asyncio.Event)
    dead_films: list[str] = field(default_factory=list)
    """Addresses of films of a person who has left."""

    @contextlib.contextmanager
    def database(self) -> Iterator[sqlite3.Connection]:
        path = Path(self.site.env["PREFINE_DATA"]) / "db.sqlite3"
        with contextlib.closing(sqlite3.connect(path, timeout=120)) as connection, connection:
            yield connection

    def order(self, screening: str) -> list[str]:
        """The candidates behind the letters of this ballot."""
        with self.database() as database:
            [drawn] = database.execute('select "order" from review_screening where token = ?', [screening]).fetchone()
            keys = dict(database.execute(KEYS))
        return [keys[pk] for pk in json.loads(drawn)]

    def let_time_pass(self, screening: str) -> None:
        """Move the vote so far into the past that it cannot be taken back."""
        late = "update review_vote set created_at = datetime(created_at, '-1 day') where undone_at is null and "
        with self.database() as database:
            database.execute(f"{late} screening_id = (select id from review_screening where token = ?)", [screening])

    async def context(self, **options: object) -> BrowserContext:
        """A browser for one person. Nothing plays by itself in it, because two cores are too slow for that."""
        wanted = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce", **options}
        context = await self.browser.new_context(**wanted)
        context.set_default_timeout(SECONDS)
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        context.on("request", lambda asked: asked.url.startswith(self.site.url) or self.complaints.append(asked.url))
        return context

    def check_words(self, text: str) -> None:
        said = [word for word in self.forbidden if word.casefold() in text.casefold()]
        assert not said, f"a page says {said}"


Habit = Callable[["Person", Pick], Awaitable[None]]
"""A way to confirm a choice."""


class Person:
    """A participant with a page."""

    def __init__(self, crowd: Crowd, label: str, address: str, context: BrowserContext, page: Page) -> None:
        self.crowd, self.label, self.address, self.context, self.page = crowd, label, address, context, page
        self.memory = crowd.memories.setdefault(label, Memory())
        self.seen = crowd.ballots.setdefault(label, [])
        self.luck = random.Random(label)
        self.letters = ("", "")

    @property
    def url(self) -> str:
        return self.crowd.site.url + self.address

    async def press(self, name: str) -> None:
        await self.page.get_by_role("button", name=name).click()

    async def begin(self, wrong_first: bool = False) -> None:
        """Consent, instructions, the practice trial, the question."""
        page = self.page
        await page.goto(self.url)
        await page.get_by_role("checkbox").check()
        await self.press("Agree and begin")
        await self.press("I am ready")
        await expect(page.get_by_text("Practice: it does not count")).to_be_visible()
        await self.choose("A", "B")
        await self.press("Confirm")
        await self.press("Go on")
        if wrong_first:
            await page.get_by_label("Nothing at all").check()
            await self.press("Go on")
            await expect(page.get_by_text("Not quite.")).to_be_visible()
        await page.get_by_label("Watch and choose").check()
        await self.press("Try again" if wrong_first else "Go on")
        await expect(page.get_by_role("button", name=re.compile("Try again|Go on"))).to_have_count(0)

    async def ballot(self, final: bool = False) -> str:
        """Wait for the next one. Returns its token."""
        found = await self.page.wait_for_function(NEW, arg=self.seen, timeout=TRAINING, polling=500)
        token = await found.json_value()
        assert token not in ("debriefing", "thanks", "failed", "closed", "paused"), f"{self.label} came to {token}"
        self.seen.append(token)
        self.memory.orders.append(self.crowd.order(token))
        where = "Final choice" if final else f"Round {len(self.seen)} of "
        await expect(self.page.locator("#ballot").get_by_text(where)).to_be_visible()
        return token

    async def choose(self, best: str, worst: str | None) -> None:
        """Pick, and watch for long enough."""
        page = self.page
        await page.wait_for_load_state()  # a person cannot press a button before it appears
        self.letters = (best, worst or "")
        await page.locator(f"#clip-{best} .pick.best").click()
        if worst:
            await page.locator(f"#clip-{worst} .pick.worst").click()
        await self.watch(page)

    async def watch(self, page: Page) -> None:
        await page.locator("[data-do=play]").click()
        try:
            await expect(page.get_by_role("button", name="Confirm")).to_be_enabled()
        except AssertionError as error:
            raise AssertionError(f"{self.label} cannot confirm: {await page.evaluate(VIDEOS)}") from error

    async def still_chosen(self) -> None:
        await expect(self.page.locator(f"#clip-{self.letters[0]} input[name=best]")).to_be_checked()
        await expect(self.page.locator(f"#clip-{self.letters[1]} input[name=worst]")).to_be_checked()

    async def pick(self, token: str, final: bool = False, reason: str = "") -> Pick:
        """Choose by lot."""
        order = self.crowd.order(token)
        best, worst = self.luck.sample(LETTERS[: len(order)], 2)
        films = await self.films()
        if reason:
            await self.page.locator(".why summary").click()
            await self.page.get_by_label("In your own words").fill(reason)
            await self.page.keyboard.press("Escape")
        await self.choose(best, None if final else worst)
        self.crowd.check_words(await self.page.content())
        keys = dict(zip(LETTERS, order, strict=False))
        return Pick(keys[best], None if final else keys[worst], films[LETTERS.index(best)], reason)

    async def films(self) -> list[bytes]:
        """What the browser gets behind the letters: all of a page equal in length."""
        addresses = await self.page.evaluate(FILMS)
        films = [await self.fetch(address) for address in addresses]
        assert len({len(film) for film in films}) == 1, "the length of a film tells it from the others"
        return films

    async def fetch(self, address: str) -> bytes:
        answer = await self.context.request.get(self.crowd.site.url + address)
        assert answer.status == 200
        return await answer.body()

    async def saved(self) -> None:
        await expect(self.page.get_by_role("heading", name="Thank you, your choice is saved")).to_be_visible()
        self.crowd.check_words(await self.page.content())

    async def judge(
        self, habit: Callable[[Person, Pick], Awaitable[None]], final: bool = False, reason: str = ""
    ) -> None:
        token = await self.ballot(final)
        pick = await self.pick(token, final, reason)
        self.memory.confirmed.append(pick)
        await habit(self, pick)
        self.crowd.somebody_voted.set()
        self.crowd.let_time_pass(token)

    async def end(self) -> None:
        """The debriefing, the winner's film, the code."""
        page = self.page
        await expect(page.get_by_role("heading", name="What this study was about")).to_be_visible(timeout=TRAINING)
        await self.press("I have read this")
        await expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
        self.crowd.check_words(await page.content())
        self.memory.code = await page.locator("#completion-code").inner_text()
        self.memory.winner = await self.fetch(await page.locator(".winner video").get_attribute("src") or "")

    async def token(self, page: Page) -> str:
        return await page.locator("#ballot input[name=csrfmiddlewaretoken]").input_value()

    async def post(self, what: str, csrf: str, **form: str) -> str:
        """Post a form that no page would send."""
        sent = {"csrfmiddlewaretoken": csrf, **form}
        answer = await self.context.request.post(f"{self.url}{what}/", form=sent)
        assert answer.status == 200, answer.status
        return await answer.text()


@contextlib.asynccontextmanager
async def open_crowd(site: Site, forbidden: tuple[str, ...]) -> AsyncIterator[Crowd]:
    """A Chromium for all of them."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**BROWSER)
        yield Crowd(site, browser, forbidden)
        await browser.close()
