"""The gain of training K=6 in lockstep: `python -m benchmarks.lockstep [--tasks Ant] [--seconds 20] [--whole]`.

Six candidates of a task, the quick preset, on all cores of this machine: together, split over one process per core (as
the trainer does); together in one process; two runs of one candidate side by side; and one after another. Samples per
second are summed over the candidates; each way runs for the given time in every round, in turns, and the median
counts; start-up is not counted. With --whole also what somebody waits: six whole runs, each from its start to its
result, together and one after another.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.machine import machine
from simulation import catalog
from trainer import launch
from trainer.records import TrainJob, read_progress, read_result

K = 6
ENDLESS: dict[str, float | int] = {"iterations": 10**6}
WAYS = {
    "together, one process per core": (1, K, 0),
    "together, one process": (1, K, 1),
    "one after another, side by side one per core": (len(os.sched_getaffinity(0)), 1, 1),
    "one after another, each with all cores": (1, 1, 1),
}
"""Way -> runs at the same time, candidates of each, processes of each."""


def speed(task: str, runs: int, candidates: int, processes: int, seconds: float) -> float:
    """Samples per second of several runs at once, measured from when all of them train."""
    source = catalog.read_reference_reward(task)
    job = TrainJob(task, (source,) * candidates, overrides=ENDLESS, film_at=(), processes=processes)
    with tempfile.TemporaryDirectory(prefix="prefine-bench-") as folder:
        folders = [Path(folder, str(index)) for index in range(runs)]
        started = [launch.train(path, job, die_with_parent=True) for path in folders]
        try:
            while min(read_progress(path).samples_per_second for path in folders) == 0:
                time.sleep(0.1)
            begin, before = time.perf_counter(), samples(folders)
            time.sleep(seconds)
            return (samples(folders) - before) / (time.perf_counter() - begin)
        finally:
            for process in started:
                launch.stop(process)


def whole(task: str, candidates: int) -> float:
    """Seconds from the start of a whole quick run of several candidates to its result."""
    source = catalog.read_reference_reward(task)
    with tempfile.TemporaryDirectory(prefix="prefine-bench-") as folder:
        begin = time.perf_counter()
        launch.train(Path(folder), TrainJob(task, (source,) * candidates, film_at=()), die_with_parent=True).wait()
        taken = time.perf_counter() - begin
        result = read_result(Path(folder))
        assert result and all(candidate.ok for candidate in result.candidates), result
    return taken


def samples(folders: list[Path]) -> int:
    """Samples of these runs so far."""
    return sum(read_progress(path).samples for path in folders)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lockstep", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="per way and round")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--tasks", nargs="+", default=["Ant"], choices=list(catalog.list_tasks()))
    parser.add_argument("--whole", action="store_true", help="also whole runs from start to result: some minutes more")
    options = parser.parse_args()
    print(machine())
    for task in options.tasks:
        table(task, options.rounds, options.seconds)
        if options.whole:
            together, apart = whole(task, K), sum(whole(task, 1) for _ in range(K))
            print(f"\n| {K} whole quick runs on {task} | seconds | ratio |\n|---|---:|---:|")
            print(f"| together | {together:.0f} | {apart / together:.2f} |")
            print(f"| one after another, each with all cores | {apart:.0f} | 1.00 |")


def table(task: str, rounds: int, seconds: float) -> None:
    """Measure all ways in turns, and print one task's table."""
    results: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way, arrangement in WAYS.items():
            results[way].append(speed(task, *arrangement, seconds))
    slowest = statistics.median(results["one after another, each with all cores"])
    print(f"\n| K={K} on {task} | samples/s | against one after another |\n|---|---:|---:|")
    for way, rates in results.items():
        rate = statistics.median(rates)
        faster = f"{rate / slowest:.2f}" if slowest else "-"  # within the given seconds no iteration ended
        print(f"| {way} | {rate:,.0f} | {faster} |", flush=True)


if __name__ == "__main__":
    main()
