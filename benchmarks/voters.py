"""The time until a vote is acknowledged while many people vote: `python -m benchmarks.voters [--people 100]`.

A real supervisor with SQLite. Each person has a browser's cookies and an open connection, has opened their page, and
sends one vote: best and worst of six as a participant, one of two as an evaluator. They vote either within half a
minute, each at a random moment, or all at the same instant. Milliseconds until the answer says that the vote is saved,
and until the next page is there as well; and the processor time that the site took for both.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import statistics
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import httpx2

from benchmarks.machine import machine
from benchmarks.notices import processor_seconds, shell, site_process
from benchmarks.round import prefine

WINDOW_SECONDS = 30.0
SETTLE_SECONDS = 2.0
MAKE_ROWS = """
from tests.webapp import poll_rows, rows
from webapp.votes import poll_enrolment
study = rows.study()
poll = poll_rows.poll(evaluators_wanted={people} + 1)
for number in range({people}):
    person = rows.participant(study, label=f"P{{number}}")
    rows.create_round(person)
    rows.open_judgement(person)
    print(person.get_absolute_url())
for evaluator in poll_enrolment.invite_evaluators(poll, {people}):
    poll_enrolment.accept_consent(evaluator)
    print(evaluator.get_absolute_url())
"""
HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')


@dataclass
class Voter:
    """A person with an open page."""

    browser: httpx2.AsyncClient
    action: str
    fields: dict[str, str]

    async def vote(self, delay: float) -> tuple[float, float]:
        """Seconds until the vote is acknowledged, and until the next page is there."""
        await asyncio.sleep(delay)
        began = time.perf_counter()
        answer = await self.browser.post(self.action, data=self.fields)
        saved = time.perf_counter() - began
        assert answer.status_code == 302, answer.text
        page = await self.browser.get(answer.headers["location"])
        assert page.status_code == 200 and 'name="choice"' not in page.text and 'name="best"' not in page.text
        return saved, time.perf_counter() - began


async def open_voter(site: str, address: str) -> Voter:
    """Opens the page as a browser does, and fills its form in."""
    browser = httpx2.AsyncClient(base_url=site, headers={"referer": site}, timeout=120)
    page = await browser.get(address)
    assert page.status_code == 200, page.text
    action = re.search(r'<form id="ballot"[^>]* action="([^"]+)"', page.text)
    assert action, page.text
    chosen = {"best": "A", "worst": "B"} if 'name="best"' in page.text else {"choice": "left"}
    return Voter(browser, action[1], dict(HIDDEN.findall(page.text)) | chosen)


async def measure_votes(site: str, addresses: Iterable[str], window: float) -> tuple[list[tuple[float, float]], float]:
    """Each person's wait, and the site's processor seconds for one vote and the page after it."""
    voters = [await open_voter(site, address) for address in addresses]
    await asyncio.sleep(SETTLE_SECONDS)
    process, drawn = site_process(site), random.Random(0)
    before = processor_seconds(process)
    waits = await asyncio.gather(*(voter.vote(drawn.uniform(0, window)) for voter in voters))
    used = (processor_seconds(process) - before) / len(voters)
    for voter in voters:
        await voter.browser.aclose()
    return waits, used


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.voters", description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=100)
    people = parser.parse_args().people
    os.environ["PREFINE_UNDO_SECONDS"] = "3600"  # only votes happen meanwhile
    print(f"{machine('django', 'uvicorn')}; {people} people, one vote each\n")
    print("| who | when | saved, median | 95% | last | next page, median | processor a vote |")
    print("|---|---|---:|---:|---:|---:|---:|", flush=True)
    with tempfile.TemporaryDirectory() as data, prefine(Path(data)) as site:
        for when, window in (("within half a minute", WINDOW_SECONDS), ("all at once", 0.0)):
            made = shell(data, MAKE_ROWS.format(people=people))
            for who, addresses in (("participant", made[:people]), ("evaluator", made[people:])):
                waits, used = asyncio.run(measure_votes(site, addresses, window))
                saved, shown = (sorted(1000 * wait[part] for wait in waits) for part in (0, 1))
                cells = (statistics.median(saved), saved[int(0.95 * people)], saved[-1], statistics.median(shown))
                numbers = " | ".join(f"{number:.0f} ms" for number in (*cells, 1000 * used))
                print(f"| {who} | {when} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
