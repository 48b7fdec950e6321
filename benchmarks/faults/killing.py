"""Which processes are killed, in which order, and when the site answers again."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import time
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass, field

from benchmarks.load.browser import Browser
from benchmarks.load.site import Site
from tests.webapp.servers import processes

PROGRAMS = {
    "web": "web",
    "llm worker": "llm-1",
    "train worker": "train",
    "film worker": "film-1",
    "reaper": "reaper",
    "redis": "redis",
    "postgres": "postgres",
    "store": "store",
}
CHILDREN = {
    "training": ("train", re.compile(r"trainer\.(?:run|lockstep) (\S+)")),
    "filming": ("film-1", re.compile(r"simulation\.film (\S+/film-\w+)/")),
}
"""A worker, and the command of a child of it with the folder that it works for. Each folder's children are killed once:
a candidate that crashes again and again is rightly given up.
"""
SERVING = ("web", "redis", "postgres", "store")
"""What pages may need."""
PAUSES = (3.0, 6.0)
"""The shortest and the longest time between two kills."""
ANSWER_SECONDS = 120.0


@dataclass
class Kills:
    """What was killed so far, by kind."""

    count: Counter[str] = field(default_factory=Counter)
    away: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Seconds until the site answered again."""


class Killer:
    def __init__(self, site: Site, link: str, count: int, draw: random.Random) -> None:
        self.site, self.link, self.draw, self.kills = site, link, draw, Kills()
        kinds = [*PROGRAMS, *CHILDREN]
        self.plan = [kinds[number % len(kinds)] for number in range(count)]
        draw.shuffle(self.plan)
        self.spared = set[str]()
        """Folders whose children were killed."""
        self.probes = list[asyncio.Task[None]]()

    async def run(self) -> None:
        """Every kill of the plan. One whose process does not live at that moment waits for another moment."""
        while self.plan:
            await asyncio.sleep(self.draw.uniform(*PAUSES))
            living = self.find_living()
            kind = next((kind for kind in self.plan if kind in living), None)
            if kind is None:
                continue
            self.plan.remove(kind)
            await asyncio.to_thread(self.kill, kind, living[kind])
            print(f"... {sum(self.kills.count.values())}: {kind}", flush=True)
            if kind in SERVING:
                self.probes.append(asyncio.create_task(self.measure(kind)))
        await asyncio.gather(*self.probes)

    def find_living(self) -> dict[str, int]:
        """The process of each kind that lives, by its id."""
        found = {kind: self.site.programs[name] for kind, name in PROGRAMS.items()}
        living = {kind: one.process.pid for kind, one in found.items() if one.process and one.is_alive()}
        table = processes()
        for kind, (name, command) in CHILDREN.items():
            parent = self.site.programs[name].process
            for pid in sorted(table):
                said = command.search(table[pid][1])
                if said and parent and said[1] not in self.spared and descends(pid, parent.pid, table):
                    living[kind] = pid
        return living

    def kill(self, kind: str, pid: int) -> None:
        if kind in CHILDREN:
            with suppress(ProcessLookupError):  # it has just ended by itself
                command = CHILDREN[kind][1].search(processes()[pid][1])
                os.kill(pid, signal.SIGKILL)
                self.spared.add(command[1] if command else "")
        else:  # PostgreSQL's immediate stop: it ends all its processes at once and writes nothing more
            self.site.programs[PROGRAMS[kind]].kill(signal.SIGQUIT if kind == "postgres" else signal.SIGKILL)
        self.kills.count[kind] += 1

    async def measure(self, kind: str) -> None:
        """Ask for a person's page until it comes."""
        began = time.monotonic()
        while time.monotonic() - began < ANSWER_SECONDS:
            with suppress(OSError, EOFError, TimeoutError):
                browser = Browser(self.site.addresses[0], "10.255.0.1")
                answer = await browser.get(self.link)
                await browser.close()
                if answer.status == 200:
                    break
            await asyncio.sleep(0.1)
        self.kills.away[kind].append(time.monotonic() - began)


def descends(pid: int, ancestor: int, table: dict[int, tuple[int, str]]) -> bool:
    while pid in table and pid != ancestor:
        pid = table[pid][0]
    return pid == ancestor
