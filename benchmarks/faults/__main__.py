"""Kills, cut networks, lost data, full disks and wrong clocks, while people vote: nothing may be lost.

    python -m benchmarks.faults [--kills 100] [--scenarios partition redis disk clock restore] [--seed 1] [--save FILE]
    python -m benchmarks.faults.report FILE...

PostgreSQL, Redis, an object store, web, workers and the reaper run as processes of their own that share addresses
alone. Experiments on Cartpole with the shortest real trainings and films run at once; each is judged by two people, who
use the site as browsers do and try again whatever fails. Meanwhile processes are killed at random and started again a
moment later, in parts of 100 kills; then the scenarios follow one after another. After each part every vote that was
acknowledged, every round, training and clip is looked for, and what was found is added to the file. The same command
with the same file does what it still lacks; `report` adds several files up. Status 1 where something is missing; the
logs are kept then.

`partition` and `disk` need root, `clock` a C compiler (Debian: apt-get install gcc libc6-dev).
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path

from benchmarks.faults.keeper import Keeper
from benchmarks.faults.parts import read_parts
from benchmarks.faults.report import list_lines
from benchmarks.faults.run import Run
from benchmarks.faults.scenarios import SCENARIOS, Stage, find_obstacle, make_folder
from benchmarks.load.site import Setup, start_site
from benchmarks.machine import machine
from tests import short_training
from tests.webapp.networks import network

LEFT_OUT = ("llm-2", "film-2")
"""One worker of each kind."""
ENVIRONMENT = {
    "PREFINE_UNDO_SECONDS": "1",
    "PREFINE_ATTEMPTS": "12",
    "PREFINE_SECRET_KEY": "the same for all programs",
    "PREFINE_ENCRYPTION_KEYS": "b25seS1mb3ItdGhpcy1ydW4tMzItYnl0ZXMtbG9uZyE=",
    "PREFINE_VAPID_KEY": "b25seS1mb3ItdGhpcy1ydW4tMzItYnl0ZXMtbG9uZyE=",
}
"""A step that is killed again and again is given up after more attempts than usual."""


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument(
        "--scenarios", nargs="*", choices=list(SCENARIOS), default=list(SCENARIOS), help="all by default; may be empty"
    )
    parser.add_argument("--seed", type=int, default=random.randrange(10_000), help="of the choice of kills")
    parser.add_argument("--save", type=Path, metavar="FILE", help="add each part to it; what it has is not done again")
    options = parser.parse_args()
    for name in options.scenarios:
        if obstacle := find_obstacle(name):
            parser.error(f"the scenario {name} {obstacle}; leave it out with --scenarios and the names of others")
    folder = make_folder()
    file = options.save or folder / "parts"
    done = read_parts(file)
    options.killed = sum(sum(part.kills.values()) for part in done)
    options.scenarios = [name for name in options.scenarios if name not in [part.name for part in done]]
    print(f"seed {options.seed}", flush=True)
    try:
        if options.killed < options.kills or options.scenarios:
            play(folder, file, options)
    except BaseException:
        print(f"The logs of all processes: {folder / 'data' / 'log'}; the parts that ended: {file}", flush=True)
        raise
    parts = read_parts(file)
    print("\n" + "\n".join(list_lines(parts)))
    faults = any(part.list_faults() for part in parts)
    if faults:
        print(f"\nThe logs of all processes: {folder / 'data' / 'log'}")
    else:
        shutil.rmtree(folder)
    return 1 if faults else 0


def play(folder: Path, file: Path, options: argparse.Namespace) -> None:
    with ExitStack() as stack:
        cable = stack.enter_context(network(1)) if "partition" in options.scenarios else None
        hosts = ("127.0.0.1", cable.here) if cable else ("127.0.0.1",)
        python = short_training.python(folder / "python")
        setup = Setup(left_out=LEFT_OUT, python=python, bucket=True, hosts=hosts, environment=ENVIRONMENT)
        site = stack.enter_context(start_site(folder, setup))
        draw = random.Random(options.seed)
        stage = Stage(site, Keeper(site, random.Random(options.seed)), {}, draw, folder, cable)
        run = Run(stage, file, f"Seed {options.seed}, {machine('django', 'uvicorn')}", options.seed)
        asyncio.run(run.run(options.killed, options.kills, options.scenarios))


if __name__ == "__main__":
    sys.exit(main())
