"""The parts of a run: pages open, wait, are told, vote; then more people arrive."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks.load.browser import Browser
from benchmarks.load.person import Person, Records, arrive
from benchmarks.load.site import Site
from benchmarks.load.usage import Period, period

ROWS = ["-m", "benchmarks.load.rows"]
CLIENTS = "clients of this benchmark"
OPENED_PER_SECOND = 40.0
SETTLE_SECONDS = 3.0
LIMIT_SECONDS = 150.0
"""How long people wait for a page or its videos at most."""
TWICE = 10
"""Each so manyth person presses Confirm twice at once."""


@dataclass(frozen=True)
class Sizes:
    people: int
    experiments: int
    arrivals: int
    arrival_seconds: float
    votes_per_second: float
    waiting_seconds: float


@dataclass
class Result:
    records: Records = field(default_factory=Records)
    periods: list[Period] = field(default_factory=list)
    told: list[float] = field(default_factory=list)
    """Seconds from the commit until each page was told that its round is ready; infinite for one that was not."""
    shown: list[float] = field(default_factory=list)
    """Until it showed the round."""
    facts: dict[str, Any] = field(default_factory=dict)
    """benchmarks.load.rows.check."""
    not_shown: int = 0
    arrived: int = 0


class Crowd:
    """All people of a run."""

    def __init__(self, site: Site, sizes: Sizes) -> None:
        self.site, self.sizes, self.result = site, sizes, Result()
        self.draw = random.Random(0)
        self.people: list[Person] = []
        self.sites = itertools.cycle(site.addresses)
        self.numbers = itertools.count(1)
        self.programs = {name: one.process.pid for name, one in site.programs.items() if one.process} | {
            CLIENTS: os.getpid()
        }

    def make_browser(self) -> Browser:
        number = next(self.numbers)
        return Browser(next(self.sites), f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        print(f"... {name}", flush=True)
        with period(name, self.programs) as measured:
            yield
        self.result.periods.append(measured)

    async def run(self) -> Result:
        """The whole run."""
        made = await self.ask_rows("make", str(self.sizes.people), str(self.sizes.experiments))
        lag = asyncio.create_task(self.measure_lag())
        await self.prepare()
        with self.part("pages open"):
            await self.open_pages(made["links"])
        with self.part("pages wait"):
            await asyncio.sleep(self.sizes.waiting_seconds)
        await self.make_ready()
        with self.part("people vote"):
            await self.vote()
        with self.part("people arrive"):
            await self.let_arrive(made["open_link"])
        with self.part("afterwards"):
            await self.count_votes()
        lag.cancel()
        await asyncio.gather(*(person.close() for person in self.people))
        return self.result

    async def ask_rows(self, *words: str, text: str = "") -> Any:
        return json.loads(await asyncio.to_thread(self.site.run, [*ROWS, *words], text))

    async def prepare(self) -> None:
        """Wait until a training of each experiment waits for its worker."""
        with self.part("experiments begin"):
            while await self.ask_rows("trainings") < self.sizes.experiments:
                await asyncio.sleep(0.5)

    async def open_pages(self, links: list[str]) -> None:
        opening = []
        for link in links:
            person = Person(self.make_browser(), link, self.result.records, random.Random(link))
            self.people.append(person)
            opening.append(asyncio.create_task(person.open()))
            await asyncio.sleep(1 / OPENED_PER_SECOND)
        await asyncio.gather(*opening)
        await asyncio.sleep(SETTLE_SECONDS)

    async def make_ready(self) -> None:
        """Every round becomes ready at once."""
        process = await asyncio.to_thread(self.site.begin, [*ROWS, "ready"])
        with process:
            assert process.stdout is not None
            await asyncio.to_thread(process.stdout.readline)
            for person in self.people:
                person.told_at.clear()
            with self.part("rounds become ready"):
                committed = float((await asyncio.to_thread(process.communicate, "now\n"))[0])
                await self.wait_for(lambda person: "videos" in person.seen_at)
        never = float("inf")
        self.result.told = [min(person.told_at, default=never) - committed for person in self.people]
        self.result.shown = [person.seen_at.get("review", never) - committed for person in self.people]
        self.result.not_shown = sum(person.state != "review" for person in self.people)

    async def wait_for(self, condition: Callable[[Person], bool]) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        while not all(map(condition, self.people)) and time.monotonic() < deadline:
            await asyncio.sleep(0.2)

    async def vote(self) -> None:
        """Everybody votes once, in a random order, at an even rate."""
        order = [person for person in self.people if person.state == "review"]
        self.draw.shuffle(order)
        voting = []
        for number, person in enumerate(order):
            voting.append(asyncio.create_task(person.vote(twice=number % TWICE == 0)))
            await asyncio.sleep(1 / self.sizes.votes_per_second)
        await asyncio.gather(*voting)

    async def let_arrive(self, entry: str) -> None:
        arrivals = []
        for number in range(self.sizes.arrivals):
            identity = f"?PROLIFIC_PID=load{number}&STUDY_ID=load&SESSION_ID=session{number}"
            visit = arrive(self.make_browser(), entry + identity, self.result.records, random.Random(number))
            arrivals.append(asyncio.create_task(visit))
            await asyncio.sleep(self.sizes.arrival_seconds / self.sizes.arrivals)
        came = [person for person in await asyncio.gather(*arrivals) if person]
        self.result.arrived = len(came)
        self.people += came

    async def count_votes(self) -> None:
        """Look at the rows until every vote is locked and every full round answered."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while True:
            facts = await self.ask_rows("check", text=json.dumps(self.result.records.votes))
            self.result.facts = facts
            over = not facts["not locked"] and facts["answered rounds"] == facts["full rounds"]
            if over or time.monotonic() > deadline:
                return
            await asyncio.sleep(1)

    async def measure_lag(self) -> None:
        """How late this process is, which is in every figure."""
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.05)
            self.result.records.seconds["this benchmark's own delay"].append(time.perf_counter() - began - 0.05)
