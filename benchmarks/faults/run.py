"""The parts of a run: kills, then each scenario. After each part, all experiments of its people must have ended."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.faults.killing import Killer, Kills
from benchmarks.faults.scenarios import SCENARIOS, Stage
from benchmarks.faults.voter import Ballot, Voter
from benchmarks.load.browser import Browser
from benchmarks.load.person import Records
from benchmarks.load.site import Site

ROWS = ["-m", "benchmarks.faults.rows"]
PANEL = 2
LANES = 3
"""How many experiments run at once."""
SPARE_GROUPS = 60
END_SECONDS = 300.0
"""How long experiments have to end once nothing more is done to the site."""


@dataclass
class Part:
    """A part of a run, and what was found after it."""

    name: str
    seconds: float
    notes: list[str]
    facts: dict[str, Any]
    stuck: int
    """People who had not reached the last page."""

    def list_lines(self) -> Iterator[str]:
        """What was found, to be seen also where a later part ends the run."""
        counts = (f"{name} {len(v) if isinstance(v, list) else v}" for name, v in self.facts.items())
        yield f"... {self.name}, {self.seconds:.0f} s: {', '.join(counts)}"
        yield from (f"... {fault}" for fault in self.list_faults())

    def list_faults(self) -> list[str]:
        """What is wrong, in words."""
        facts = self.facts
        found = [f"{self.stuck} people did not reach the last page"] if self.stuck else []
        for name in ("lost", "twice", "not counted", "not finished", "steps twice", "candidates failed"):
            found += [f"{name}: {one}" for one in facts[name]]
        for name in ("rounds without best and worst", "clips missing"):
            found += [f"{name}: {one}" for one in facts[name]]
        return found


class Run:
    def __init__(self, stage: Stage, kills: int, scenarios: list[str], seed: int) -> None:
        self.stage, self.scenarios, self.seed = stage, scenarios, seed
        self.site: Site = stage.site
        self.count, self.kills = kills, Kills()
        self.records, self.parts = Records(), list[Part]()
        self.numbers = itertools.count(1)
        self.links = iter(list[str]())

    async def run(self) -> None:
        groups = SPARE_GROUPS + self.count
        made = await asyncio.to_thread(self.site.run, [*ROWS, "make", str(PANEL * groups)])
        self.links = iter(json.loads(made))
        keeping = asyncio.create_task(self.stage.keeper.run())
        if self.count:
            killer = Killer(self.site, next(self.links), self.count, random.Random(self.seed))
            self.kills = killer.kills
            await self.play("kills", killer.run())
        for name in self.scenarios:
            await self.play(name, SCENARIOS[name](self.stage))
        keeping.cancel()

    async def play(self, name: str, fault: Awaitable[None]) -> None:
        """Let people come and vote while this happens, and look at everything once they have finished."""
        print(f"... {name}", flush=True)
        began, over, came = time.monotonic(), asyncio.Event(), list[Voter]()
        lanes = [asyncio.create_task(self.keep_busy(over, came)) for _ in range(LANES)]
        await fault
        over.set()
        back = [voter for voter in came if voter.state == "thanks" and voter.link in self.stage.called_back]
        again = [self.make_voter(voter.link) for voter in back]
        came = [voter for voter in came if voter not in back] + again
        lanes += [asyncio.create_task(voter.take_part(self.stage.ballots)) for voter in again]
        _, pending = await asyncio.wait(lanes, timeout=END_SECONDS)
        stuck = sum(voter.state != "thanks" for voter in came)
        for lane in pending:
            lane.cancel()
        for lane in await asyncio.gather(*lanes, return_exceptions=True):
            if isinstance(lane, Exception):
                raise lane
        seconds = time.monotonic() - began
        facts = await self.check([voter.link for voter in came])
        part = Part(name, seconds, self.stage.notes[:], facts, stuck)
        self.parts.append(part)
        self.stage.notes.clear()
        for line in part.list_lines():
            print(line, flush=True)

    async def keep_busy(self, over: asyncio.Event, came: list[Voter]) -> None:
        """One panel of people after another, until it is over."""
        while not over.is_set():
            panel = [self.make_voter(next(self.links)) for _ in range(PANEL)]
            came += panel
            await asyncio.gather(*(voter.take_part(self.stage.ballots) for voter in panel))

    def make_voter(self, link: str) -> Voter:
        number = next(self.numbers)
        browser = Browser(self.site.addresses[0], f"10.0.{number >> 8 & 255}.{number & 255}")
        return Voter(browser, link, self.records, random.Random(f"{self.seed} {number}"))

    async def check(self, links: list[str]) -> dict[str, Any]:
        given = {"acknowledged": self.list_choices(), "links": links}
        return dict(json.loads(await asyncio.to_thread(self.site.run, [*ROWS, "check"], json.dumps(given))))

    def list_choices(self) -> dict[str, list[str]]:
        ballots: dict[str, Ballot] = self.stage.ballots
        return {token: ballot.choice for token, ballot in ballots.items()}
