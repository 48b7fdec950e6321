"""How soon "round ready" reaches open pages: `python -m benchmarks.notices [--pages 100 500 1000]`.

A real supervisor with SQLite; many people, each with an experiment and an open page's websocket; then every round
becomes ready in one transaction. Seconds from its commit until a page has been told, as its browser sees it, and the
processor time that the site took for it; the sockets are held by a process of their own on the same machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import websockets
from websockets.typing import Origin

from benchmarks.machine import machine
from benchmarks.round import prefine

ROUNDS = 3
SETTLE_SECONDS = 3.0
AFTER_SECONDS = 0.5
LIMIT_SECONDS = 60.0
PEOPLE = """
from webapp.studies.models import Assignment, Participant, Study
from webapp.studies import assigning
study = Study.objects.filter(demonstration=True).first()
people = [Participant(study=study, label=f"Page {{number}}") for number in range({pages})]
for person in Participant.objects.bulk_create(people):
    place = Assignment(participant=person, arm=study.arms.get())
    place.experiment = assigning.create_experiment(place)
    place.save()
    print(person.token)
"""
READY = """
import time
from django.db import transaction
from webapp.experiments import events
from webapp.experiments.models import Experiment
print("ready", flush=True)
input()
with transaction.atomic():
    for experiment in Experiment.objects.filter(assignments__participant__label__startswith="Page "):
        events.emit(experiment, "judge", "Round 1: pick best and worst", public=True)
print(time.time())
"""


def shell(data: str, code: str) -> list[str]:
    """The lines that this code prints, run in a process of its own on this data."""
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", code]
    environment = os.environ | {"PREFINE_DATA": data}
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout.split()


def start_shell(data: str) -> subprocess.Popen[str]:
    """The process that makes every round ready on request."""
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", READY]
    environment, pipe = os.environ | {"PREFINE_DATA": data}, subprocess.PIPE
    process = subprocess.Popen(command, env=environment, text=True, stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def site_process(site: str) -> Path:
    """The site's own process, in /proc."""
    port = f"--port\0{site.rpartition(':')[2]}\0".encode()
    for found in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if b"webapp.web_server" in (line := found.read_bytes()) and port in line:
                return found.parent
    raise LookupError(f"no process serves {site}")


def processor_seconds(process: Path) -> float:
    """User and system time so far."""
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure_notices(site: str, tokens: list[str], data: str) -> list[tuple[list[float], float]]:
    """Per round, the seconds after which each page was told, and the site's processor time."""
    address = site.replace("http://", "ws://")
    opening = [websockets.connect(f"{address}/ws/s/{token}/", origin=Origin(site), open_timeout=60) for token in tokens]
    sockets = []
    for start in range(0, len(opening), 50):  # as a server's backlog allows
        sockets += await asyncio.gather(*opening[start : start + 50])
    rounds, process = [], site_process(site)
    for _ in range(ROUNDS):
        await asyncio.sleep(SETTLE_SECONDS)
        arrivals = [asyncio.create_task(arrival(socket)) for socket in sockets]
        with await asyncio.to_thread(start_shell, data) as others:
            before = processor_seconds(process)
            committed = float((await asyncio.to_thread(others.communicate, "now\n"))[0])
        times = await asyncio.wait_for(asyncio.gather(*arrivals), LIMIT_SECONDS)
        await asyncio.sleep(AFTER_SECONDS)
        rounds.append(([moment - committed for moment in times], processor_seconds(process) - before))
    for socket in sockets:
        await socket.close()
    return rounds


async def arrival(socket: websockets.ClientConnection) -> float:
    """The time at which the page was told of a change."""
    while json.loads(await socket.recv()).get("type") != "changed":
        pass
    return time.time()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.notices", description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, nargs="+", default=[100, 500, 1000])
    options = parser.parse_args()
    print(f"{machine('channels', 'uvicorn')}; every round becomes ready at once, {ROUNDS} times\n")
    print("| open pages | median | 99% | last | processor |\n|---:|---:|---:|---:|---:|", flush=True)
    for pages in options.pages:
        with tempfile.TemporaryDirectory() as data, prefine(Path(data)) as site:
            tokens = shell(data, PEOPLE.format(pages=pages))
            rounds = asyncio.run(measure_notices(site, tokens, data))
        seconds = [value for values, _ in rounds for value in values]
        ranked = statistics.quantiles(seconds, n=100)
        cells = (statistics.median(seconds), ranked[98], max(seconds), statistics.mean(used for _, used in rounds))
        print(f"| {pages} | " + " | ".join(f"{1000 * value:.0f} ms" for value in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
