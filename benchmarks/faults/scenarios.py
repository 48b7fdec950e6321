"""Faults that last for a while, each met by a site at work."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from redis import Redis

from benchmarks.faults.keeper import Keeper
from benchmarks.faults.killing import CHILDREN, descends
from benchmarks.faults.voter import Ballot
from benchmarks.load.site import Program, Site, create_cluster, create_database
from tests.webapp.networks import Network
from tests.webapp.servers import processes

WORK_SECONDS = 15.0
"""How long a site works before a fault and after it."""
DISK_BYTES = 64 << 20
JUMP_SECONDS = 3600
WAIT_SECONDS = 240.0
CLOCK = Path(__file__).with_name("clock.c")


@dataclass
class Stage:
    """A site at work, with people who vote."""

    site: Site
    keeper: Keeper
    ballots: dict[str, Ballot]
    draw: random.Random
    folder: Path
    network: Network | None = None
    notes: list[str] = field(default_factory=list)
    """What was done, for the report."""
    called_back: set[str] = field(default_factory=set)
    """Links of people whose last votes a restored backup does not know."""

    async def work(self, seconds: float = WORK_SECONDS) -> None:
        await asyncio.sleep(seconds)

    async def wait_for_training(self, worker: Program) -> None:
        """Until a training of this worker runs."""
        deadline = time.monotonic() + WAIT_SECONDS
        while not trains(worker):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{worker.name} trained nothing for {WAIT_SECONDS:.0f} s")
            await asyncio.sleep(0.2)


def trains(worker: Program) -> bool:
    table = processes()
    return worker.process is not None and any(
        CHILDREN["training"][1].search(command) and descends(pid, worker.process.pid, table)
        for pid, (_, command) in table.items()
    )


async def cut_network(stage: Stage) -> None:
    """A second training worker, on a machine of its own, hears nothing for half a minute to a minute while it trains;
    the other worker takes its training over.
    """
    assert stage.network
    here = stage.network.here
    there = {k: v.replace("127.0.0.1", here) for k, v in stage.site.environment.items() if v and "127.0.0.1" in v}
    far = stage.site.add_worker("far", "train", stage.network.prefix, there)
    near = stage.site.programs["train"]
    seconds = stage.draw.uniform(30, 60)
    with stage.keeper.hold(near.name):
        await asyncio.to_thread(near.stop)
        await stage.wait_for_training(far)
        stage.network.cut()
    await asyncio.sleep(seconds)
    stage.network.heal()
    await stage.work()
    del stage.site.programs["far"]
    await asyncio.to_thread(far.stop)
    stage.notes.append(f"a training worker cut off for {seconds:.0f} s")


async def empty_redis(stage: Stage) -> None:
    times = 3
    for _ in range(times):
        await stage.work(stage.draw.uniform(5, 15))
        with Redis.from_url(stage.site.environment["PREFINE_BROKER_URL"]) as broker:
            await asyncio.to_thread(broker.flushall)
        await asyncio.to_thread(stage.site.programs["redis"].kill)
    await stage.work()
    stage.notes.append(f"Redis emptied and killed {times} times")


async def fill_disks(stage: Stage) -> None:
    """A training worker's disk, then the web process's: full while they work and while they start."""
    for name in ("train", "web"):
        one, before = stage.site.programs[name], stage.site.programs[name].environment
        seconds = stage.draw.uniform(20, 30)
        with small_disk(stage.folder / f"disk-{name}") as disk:
            (disk / "tmp").mkdir()
            await stage.keeper.restart(one, before | {"PREFINE_DATA": str(disk), "TMPDIR": str(disk / "tmp")})
            if name == "train":
                await stage.wait_for_training(one)
            ballast = await asyncio.to_thread(fill, disk)
            await asyncio.sleep(seconds / 2)
            await asyncio.to_thread(one.kill)
            await asyncio.sleep(seconds / 2)
            ballast.unlink()
            await stage.work()
            await stage.keeper.restart(one, before)
        stage.notes.append(f"the disk of {name} full for {seconds:.0f} s")


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """A file that takes all the room that is left."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
    return ballast


async def move_clocks(stage: Stage) -> None:
    """The clock of a training worker, then the web process's, goes an hour forward and back while they work."""
    library = stage.folder / "clock.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(CLOCK)], check=True)
    for name in ("train", "web"):
        one, before = stage.site.programs[name], stage.site.programs[name].environment
        clock = stage.folder / f"clock-{name}"
        set_clock(clock, 0)
        await stage.keeper.restart(one, before | {"LD_PRELOAD": str(library), "CLOCK_FILE": str(clock)})
        if name == "train":
            await stage.wait_for_training(one)
        seconds = stage.draw.uniform(20, 30)
        set_clock(clock, JUMP_SECONDS)
        await asyncio.sleep(seconds)
        set_clock(clock, 0)
        await stage.work()
        await stage.keeper.restart(one, before)
        stage.notes.append(f"the clock of {name} an hour ahead for {seconds:.0f} s")


def set_clock(file: Path, seconds: int) -> None:
    fresh = file.with_suffix(".new")
    fresh.write_text(str(seconds))
    fresh.replace(file)


async def restore_backup(stage: Stage) -> None:
    """Back up while people vote; later replace PostgreSQL by an empty one, with the backup in it."""
    site, file = stage.site, stage.folder / "backup.zip"
    await stage.work()
    backed_up_at = time.time()
    await asyncio.to_thread(site.run, ["manage.py", "backup", str(file)])
    await stage.work()
    with stage.keeper.hold(*site.programs):
        stopped = [one for name, one in site.programs.items() if name not in ("redis", "store")]
        for one in reversed(stopped):
            await asyncio.to_thread(one.stop)
        postgres = site.programs["postgres"]
        await asyncio.to_thread(replace_database, site, postgres, file)
        gone = {token: ballot for token, ballot in stage.ballots.items() if ballot.at > backed_up_at}
        for token in gone:  # what came after the backup is gone, and is asked for again
            del stage.ballots[token]
        stage.called_back = {ballot.person for ballot in gone.values()}
        for one in stopped:
            if one is not postgres:
                await asyncio.to_thread(one.start)
    await stage.work()
    stage.notes.append(f"a backup restored into an empty PostgreSQL; {len(gone)} votes were younger than it")


def replace_database(site: Site, postgres: Program, backup: Path) -> None:
    folder = site.data.parent / "postgres"
    shutil.rmtree(folder)
    create_cluster(folder, site.setup.hosts)
    postgres.start()
    create_database(postgres.port)
    site.run(["manage.py", "restore", str(backup)])


SCENARIOS: dict[str, Callable[[Stage], Awaitable[None]]] = {
    "partition": cut_network,
    "redis": empty_redis,
    "disk": fill_disks,
    "clock": move_clocks,
    "restore": restore_backup,
}


def find_obstacle(name: str) -> str:
    """Why this scenario cannot be played here; empty if it can."""
    if name in ("partition", "disk") and os.geteuid():
        return "needs root, for networks and disks of its own"
    if name == "partition" and not shutil.which("ip"):
        return "needs iproute2 (Debian: apt-get install iproute2)"
    if name == "clock" and not shutil.which("cc"):
        return "needs a C compiler (Debian: apt-get install gcc libc6-dev)"
    return ""


def make_folder() -> Path:
    """Of a run; other users may enter it, as PostgreSQL runs as one of them."""
    folder = Path(tempfile.mkdtemp(prefix="prefine-faults-"))
    folder.chmod(0o711)
    return folder
