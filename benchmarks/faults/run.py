"""The parts of a run: kills, then each scenario. After each part, all experiments of its people must have ended."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import signal
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from benchmarks.faults.killing import Killer, Kills
from benchmarks.faults.parts import Part, append_part
from benchmarks.faults.scenarios import SCENARIOS, Stage
from benchmarks.faults.voter import Ballot, Voter
from benchmarks.load.browser import Browser
from benchmarks.load.person import Records
from benchmarks.load.site import Site

ROWS = ["-m", "benchmarks.faults.rows"]
PANEL = 2
BATCH = 100
"""Kills of a part."""
LANES = 3
"""How many experiments run at once."""
SPARE_GROUPS = 60
END_SECONDS = 900.0
"""How long experiments have to end once nothing more is done to the site."""


class Run:
    def __init__(self, stage: Stage, file: Path, name: str, seed: int) -> None:
        self.stage, self.file, self.name, self.seed = stage, file, name, seed
        self.site: Site = stage.site
        self.records = Records()
        self.numbers = itertools.count(1)
        self.links = iter(list[str]())
        self.killer: Killer | None = None
        self.cut_off = False

    async def run(self, killed: int, kills: int, scenarios: list[str]) -> None:
        """Kill until it was `kills` times, of which `killed` were before, in parts of BATCH, then play the scenarios.
        Ctrl-C or SIGTERM leaves out what has not begun, ends the kills, and lets people finish; a second one ends at
        once.
        """
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self.stop_soon)
        groups = SPARE_GROUPS + max(0, kills - killed)
        made = await asyncio.to_thread(self.site.run, [*ROWS, "make", str(PANEL * groups)])
        self.links = iter(json.loads(made))
        link = next(self.links)
        keeping = asyncio.create_task(self.stage.keeper.run())
        for begun in range(killed, kills, BATCH):
            if not self.cut_off:
                draw = random.Random(f"{self.seed} {begun}")
                count = min(BATCH, kills - begun)
                print(f"... kills {begun + 1} to {begun + count} of {kills}", flush=True)
                self.killer = Killer(self.site, link, count, draw)
                await self.play("kills", self.killer.run(), self.killer.kills)
        for name in scenarios:
            if not self.cut_off:
                await self.play(name, SCENARIOS[name](self.stage), Kills())
        keeping.cancel()

    def stop_soon(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().remove_signal_handler(number)
        print("... ends after this part", flush=True)
        self.cut_off = True
        if self.killer:
            self.killer.plan.clear()

    async def play(self, name: str, fault: Awaitable[None], kills: Kills) -> None:
        """Let people come and vote while this happens, and look at everything once they have finished."""
        print(f"... {name}", flush=True)
        began, began_at, over, came = time.monotonic(), time.time(), asyncio.Event(), list[Voter]()
        self.records.failures.clear()
        self.stage.keeper.ended.clear()
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
        for ended in await asyncio.gather(*lanes, return_exceptions=True):
            if isinstance(ended, Exception):
                raise ended
        seconds = time.monotonic() - began
        facts = await self.check([voter.link for voter in came])
        votes = sum(ballot.at >= began_at for ballot in self.stage.ballots.values())
        part = Part(
            run=self.name,
            name=name,
            seconds=seconds,
            notes=self.stage.notes[:],
            votes=votes,
            facts=facts,
            stuck=stuck,
            kills=dict(kills.count),
            away=dict(kills.away),
            ended=dict(self.stage.keeper.ended),
            failures=dict(self.records.failures),
        )
        append_part(self.file, part)
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
