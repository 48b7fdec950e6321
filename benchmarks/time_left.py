"""How far off the time left is that pages say: `python -m benchmarks.time_left [--task Cartpole] [--rounds 3]`.

A real supervisor with a data folder of its own, so that the first round knows of no earlier one. A program picks at
once where people would. `--trace FILE` writes what the jobs reported meanwhile, for tests/webapp/test_time_left.py.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.round import prefine

POLL_SECONDS = 1.0


def run(task: str, k: int, rounds: int) -> list[list[Any]]:
    """Run an experiment to its end. Returns every change of a job that its round waits for: [seconds since the start,
    round, kind, status, fraction, seconds left by its own speed].
    """
    from webapp.experiments import judges, loop
    from webapp.experiments.models import Experiment

    judge = judges.IN_STUDIES
    row = Experiment.objects.create(name="Time left", task=task, method="icpl", judge=judge, k=k, n=rounds)
    loop.start(row)
    begun, changes = time.monotonic(), list[list[Any]]()
    while row.live:
        if request := loop.find_waiting_request(row):
            loop.answer(request.pk, pick(request))
        for number, *state in read_jobs(row):
            if state != next((seen[2:] for seen in reversed(changes) if seen[1:3] == [number, state[0]]), None):
                changes.append([round(time.monotonic() - begun, 1), number, *state])
        time.sleep(POLL_SECONDS)
        row.refresh_from_db()
    if row.error:
        raise RuntimeError(row.error)
    return changes


def pick(request: Any) -> Any:
    """The first candidate as best, the last as worst."""
    best, *_, worst = request.payload["candidates"]
    pick = {"best": best, "worst": worst, "reason": "", "tags": []}
    return pick if "iteration" in request.payload else best


def read_jobs(row: Any) -> list[list[Any]]:
    """Round, kind, status, fraction and own seconds left of the jobs that the rounds wait for."""
    jobs = row.jobs.filter(kind__in=("write", "train", "film"), percent__in=(0, 100)).select_related("request")
    return [
        [job.request.payload["iteration"], job.kind, job.status, *map(job.progress.get, ("fraction", "seconds_left"))]
        for job in jobs
    ]


def main() -> None:
    """Print the table of errors."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.time_left", description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="Cartpole")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-k", type=int, default=6)
    parser.add_argument("--trace", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as data, prefine(Path(data)):
        os.environ |= {"PREFINE_DATA": data, "DJANGO_SETTINGS_MODULE": "webapp.settings"}
        import django

        django.setup()
        from webapp.experiments.estimate_errors import build_report

        trace = run(arguments.task, arguments.k, arguments.rounds)
        report = build_report()
    if arguments.trace:
        arguments.trace.write_text(json.dumps(trace).replace("], [", "],\n["))
    print(f"Time left, {arguments.task}, quick, K={arguments.k}, {arguments.rounds} rounds\n\n{machine('django')}\n")
    print("| stage | estimates | median error | said too much (+) or too little (-) |\n|---|---:|---:|---:|")
    for row in report.rows:
        print(f"| {row.stage} | {row.count} | {row.error:.0%} | {row.bias:+.0%} |")
    if report.error is not None:
        print(f"| all | {len(report.estimates)} | {report.error:.0%} | |")


if __name__ == "__main__":
    main()
