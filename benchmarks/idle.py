"""The cost of an idle site, and the time until it wakes: `python -m benchmarks.idle [--seconds 30]`.

A real supervisor with SQLite and the demonstration studies. Processor time and memory of every program, with no page
open and with a participant's page open; then how long a worker takes to begin a job, the reaper to restart an
experiment that stands still, and an event to reach the open page. Under two minutes.
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
from collections import Counter
from contextlib import suppress
from pathlib import Path

import websockets
from websockets.typing import Origin

from benchmarks.machine import machine
from benchmarks.round import prefine

SETTLE_SECONDS = 10.0
"""Seconds after the start; imports and first checks are over by then."""
TIMES = 10
PROGRAMS = {
    "supervisor": "webapp.supervisor",
    "site": "webapp.web_server",
    "workers": "manage.py worker",
    "reaper and notifier": "manage.py reaper",
}
"""Kinds of programs, and what their command lines hold."""
PERSON = """
from webapp.studies import assigning
from webapp.studies.models import Assignment, Participant, Study
study = Study.objects.filter(demonstration=True).first()
person = Participant.objects.create(study=study, label="Page")
place = Assignment(participant=person, arm=study.arms.get())
place.experiment = assigning.create_experiment(place)
place.save()
print(person.token)
"""
EVENTS = """
import time
from webapp.experiments import events
from webapp.studies.models import Assignment
experiment = Assignment.objects.get(participant__label="Page").experiment
for number in range({times}):
    time.sleep(0.53)
    events.emit(experiment, "judge", "Round 1: pick best and worst", public=True)
    print(time.time(), flush=True)
"""
WAKES = """
import time
from webapp.experiments import loop
from webapp.experiments.models import Experiment, Job
def begun(start):
    experiment = Experiment.objects.create(name="Idle", task="Cartpole", method="icpl", judge="proxy", k=2, n=1)
    began = time.time()
    start(experiment)
    while not (job := Job.objects.filter(experiment=experiment).order_by("id").first()) or not job.started_at:
        time.sleep(0.005)
    loop.cancel(experiment)
    time.sleep(0.57)
    return job.started_at.timestamp() - began
def found(experiment):
    Experiment.objects.filter(pk=experiment.pk).update(status=Experiment.Status.RUNNING)
for start in (loop.start, found):
    print(*(begun(start) for _ in range({times})))
"""


def programs(data: Path) -> dict[str, list[Path]]:
    """The processes of this site in /proc, by name."""
    found: dict[str, list[Path]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"PREFINE_DATA={data}".encode() in (process / "environ").read_bytes().split(b"\0"):
                line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                name = next((name for name, part in PROGRAMS.items() if part in line), "others")
                found.setdefault(name, []).append(process)
    return found


def processor_seconds(process: Path) -> float:
    """Processor seconds of all the process's threads so far, as the scheduler counted them."""
    seconds = 0.0
    for thread in process.glob("task/*/schedstat"):
        with suppress(OSError):
            seconds += int(thread.read_text().split()[0]) / 1e9
    return seconds


def read_memory(process: Path) -> float:
    """MB in memory; of pages that several processes share, each counts its part (PSS)."""
    with suppress(OSError):
        for line in (process / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1000
    return 0.0


def measure_memory(data: Path) -> Counter[str]:
    """MB of each kind of program."""
    return Counter({name: sum(map(read_memory, rows)) for name, rows in programs(data).items()})


def share(data: Path, seconds: float) -> Counter[str]:
    """Percent of a core that each kind of program used."""
    found = programs(data)
    before = {name: sum(map(processor_seconds, rows)) for name, rows in found.items()}
    time.sleep(seconds)
    after = {name: sum(map(processor_seconds, rows)) for name, rows in found.items()}
    return Counter({name: 100 * (after[name] - before[name]) / seconds for name in found})


def shell(data: Path, code: str) -> subprocess.Popen[str]:
    """A process that runs this code on this data."""
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", code]
    environment = os.environ | {"PREFINE_DATA": str(data)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


async def with_a_page(site: str, data: Path, seconds: float) -> tuple[Counter[str], Counter[str], list[float]]:
    """The site's processor time and memory while this page is open and nothing happens, and the delay of events."""
    token = shell(data, PERSON).communicate()[0].strip()
    address = f"{site.replace('http://', 'ws://')}/ws/s/{token}/"
    async with websockets.connect(address, origin=Origin(site)) as socket:
        await asyncio.sleep(SETTLE_SECONDS)
        used, held = await asyncio.to_thread(share, data, seconds), measure_memory(data)
        with shell(data, EVENTS.format(times=TIMES)) as others:
            assert others.stdout is not None
            late = []
            for _ in range(TIMES):
                while json.loads(await socket.recv()).get("type") != "changed":
                    pass
                arrived = time.time()
                late.append(arrived - float(await asyncio.to_thread(others.stdout.readline)))
    return used, held, late


def write_row(name: str, count: float, alone: float, watched: float, held: float, held_watched: float) -> str:
    """A row of the table of programs."""
    return f"| {name} | {count:g} | {alone:.2f} | {watched:.2f} | {held:.0f} | {held_watched:.0f} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.idle", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, prefine(data := Path(folder)) as site:
        time.sleep(SETTLE_SECONDS)
        counts = Counter({name: len(rows) for name, rows in programs(data).items()})
        alone, held_alone = share(data, options.seconds), measure_memory(data)
        watched, held_watched, late = asyncio.run(with_a_page(site, data, options.seconds))
        lines = shell(data, WAKES.format(times=TIMES)).communicate()[0].splitlines()
    print(f"{machine('celery', 'uvicorn')}; {options.seconds:g} s each\n")
    print("| | processes | % of a core, no page | a page open | MB of memory (PSS), no page | a page open |")
    print("|---|---:|---:|---:|---:|---:|")
    for name in sorted(counts):
        print(write_row(name, counts[name], *(each[name] for each in (alone, watched, held_alone, held_watched))))
    totals = [each.total() for each in (counts, alone, watched, held_alone, held_watched)]
    print(write_row("all", *totals), f"\n\n| {TIMES} times, ms | median | longest |")
    print("|---|---:|---:|")
    job, found = ([float(value) for value in line.split()] for line in lines)
    rows = ("an event reaches the page", late), ("a job begins", job), ("the reaper finds an experiment", found)
    for name, seconds in rows:
        print(f"| {name} | {1000 * statistics.median(seconds):.0f} | {1000 * max(seconds):.0f} |")


if __name__ == "__main__":
    main()
