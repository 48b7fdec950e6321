"""A thousand people with open pages, a hundred experiments, votes, and a burst of arrivals.

    python -m benchmarks.load [--people 1000] [--experiments 100] [--arrivals 300] [--web 1] ...

PostgreSQL, Redis, web, workers (without those that train: they need another machine at this size) and the reaper run
as processes of their own, as in production. Each person has a page with its websocket, which asks and is told as its
script does; the first rounds are written by workers, and their trainings are replaced by made-up results with real
videos. All rounds become ready at one instant, everybody votes once (each tenth presses twice at the same time), and
people from a recruitment site arrive meanwhile. The clients are one process of this program; the machine is theirs,
too. Milliseconds as the clients see them.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from benchmarks.load.report import list_lines
from benchmarks.load.run import Crowd, Sizes
from benchmarks.load.site import Setup, start_site
from benchmarks.machine import machine

LEFT_OUT = ("train",)
"""Trainings need a machine of their own at this size (docs/cluster.md)."""

WORKER_NICENESS = 10
"""As docker-compose.yml's cpu_shares have it: 256 for a worker, 2,048 for web."""


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--experiments", type=int, default=100, help="shared by equal panels of people")
    parser.add_argument("--arrivals", type=int, default=300)
    parser.add_argument("--arrival-seconds", type=float, default=60.0, help="in which they arrive")
    parser.add_argument("--votes-per-second", type=float, default=20.0)
    parser.add_argument("--waiting-seconds", type=float, default=20.0, help="for which everybody waits")
    parser.add_argument("--undo-seconds", type=int, default=10, help="how long a vote can be taken back")
    parser.add_argument("--web", type=int, default=1, help="web processes")
    parser.add_argument("--bucket", action="store_true", help="keep files in an object store, not in a folder")
    options = parser.parse_args()
    if options.people % options.experiments:
        parser.error("--people must be a multiple of --experiments")
    sizes = Sizes(
        options.people,
        options.experiments,
        options.arrivals,
        options.arrival_seconds,
        options.votes_per_second,
        options.waiting_seconds,
    )
    undo = {"PREFINE_UNDO_SECONDS": str(options.undo_seconds)}
    setup = Setup(
        web=options.web,
        left_out=LEFT_OUT,
        worker_niceness=WORKER_NICENESS,
        bucket=options.bucket,
        environment=undo,
    )
    with tempfile.TemporaryDirectory() as folder, start_site(Path(folder), setup) as site:
        result = asyncio.run(Crowd(site, sizes).run())
    print(f"\n{machine('django', 'uvicorn')}; {sizes.people} people in {sizes.experiments} experiments\n")
    print("\n".join(list_lines(result)))


if __name__ == "__main__":
    main()
