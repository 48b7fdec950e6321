"""Starts programs again that have ended, a moment later, as a service manager does."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.load.site import Program, Site

LOOK_SECONDS = 0.1
PAUSES = (0.3, 1.5)
"""The shortest and the longest time after which a program starts again."""


class Keeper:
    def __init__(self, site: Site, draw: random.Random) -> None:
        self.site, self.draw = site, draw
        self.held = set[str]()
        """Programs that are meant to be stopped."""
        self.start_at: dict[str, float] = {}
        self.ended = Counter[str]()
        """How often each program ended, killed or not."""

    async def run(self) -> None:
        while True:
            now = time.monotonic()
            for name, one in self.site.programs.items():
                if name in self.held or one.is_alive():
                    continue
                if name not in self.start_at:
                    self.ended[name] += one.process is not None
                    self.start_at[name] = now + self.draw.uniform(*PAUSES)
                elif now >= self.start_at[name]:
                    del self.start_at[name]
                    one.launch()
            await asyncio.sleep(LOOK_SECONDS)

    @contextmanager
    def hold(self, *names: str) -> Iterator[None]:
        """Keep these programs stopped, once they have ended."""
        self.held.update(names)
        yield
        self.held.difference_update(names)

    async def restart(self, one: Program, environment: dict[str, str]) -> None:
        """End it in order, and start it with these variables."""
        with self.hold(one.name):
            await asyncio.to_thread(one.stop)
            one.environment = environment
            await asyncio.to_thread(one.start)
