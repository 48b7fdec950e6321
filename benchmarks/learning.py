"""Does the loop learn from picks? ICPL beside OpenLoop at equal count, with the offline writer and the proxy judge.

    python -m benchmarks.learning [--task Ant] [--seeds 0 1 2] [--k 6] [--n 5] [--iterations I] [--data DIR]
    python -m benchmarks.learning --read docs/comparisons/learning-ant.csv

Every experiment is a real `./prefine run`; one that a folder given as --data already holds is read, not run again.
--save writes a line for each round, --read prints the same tables from such a file. Intervals are Student's t over
seeds (95%).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.compared import subtract
from benchmarks.kept import read_table, write_table
from benchmarks.machine import machine

METHODS = ("icpl", "open_loop")
COLUMNS = ("method", "seed", "round", "best", "mean", "seconds")


@dataclass(frozen=True)
class Trial:
    """One experiment: RTS of the best and mean of every round, and how long it took."""

    method: str
    seed: int
    best: tuple[float, ...]
    mean: tuple[float, ...]
    seconds: float


def folder_of(method: str, seed: int, arguments: argparse.Namespace) -> Path:
    """The data folder of one experiment."""
    name = f"{arguments.task}-{method}-{seed}-{arguments.k}-{arguments.n}-{arguments.iterations}"
    return Path(arguments.data) / name


def run(method: str, seed: int, arguments: argparse.Namespace) -> Trial:
    """Run one experiment in a data folder of its own, unless its record is there."""
    data = folder_of(method, seed, arguments)
    done = data / "done.json"
    if not done.exists():
        environment = os.environ | {"PREFINE_DATA": str(data)}
        manage = [sys.executable, "manage.py"]
        subprocess.run([*manage, "migrate", "--verbosity=0"], env=environment, check=True)
        options = ["--task", arguments.task, "--method", method, "--seed", seed, "--k", arguments.k, "--n", arguments.n]
        options += ["--iterations", arguments.iterations] if arguments.iterations else []
        began = time.monotonic()
        command = [*manage, "run_experiment", "--judge", "proxy", *map(str, options)]
        output = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
        record = re.search(r"^Record: (.+)$", output, re.MULTILINE)
        assert record is not None, output
        done.write_text(json.dumps({"record": record[1], "seconds": time.monotonic() - began}))
    saved = json.loads(done.read_text())
    requests = json.loads(Path(saved["record"]).read_text())["requests"]
    rounds = [[o["rts"] for o in r["result"] if o["ok"]] for r in requests if r["kind"] == "Train"]
    best, mean = tuple(max(one) for one in rounds), tuple(statistics.mean(one) for one in rounds)
    return Trial(method, seed, best, mean, saved["seconds"])


def table(trials: list[Trial], n: int) -> str:
    """A row per experiment, and one per method over its experiments."""
    head = " | ".join(f"round {i}" for i in range(1, n + 1))
    lines = [f"| method | seed | {head} | TS | seconds |", "|---" * (n + 4) + "|"]
    for trial in sorted(trials, key=lambda t: (t.method, t.seed)):
        cells = " | ".join(f"{b:.2f} ({m:.2f})" for b, m in zip(trial.best, trial.mean, strict=True))
        lines.append(
            f"| {trial.method} | {trial.seed} | {cells} | {max(trial.best):.2f} | {show_seconds(trial.seconds)} |"
        )
    for method in METHODS:
        own = [t for t in trials if t.method == method]
        best, mean = ([statistics.mean(r) for r in zip(*rows, strict=True)] for rows in by_round(own))
        cells = " | ".join(f"{b:.2f} ({m:.2f})" for b, m in zip(best, mean, strict=True))
        scores = [max(t.best) for t in own]
        seconds = statistics.mean(t.seconds for t in own)
        lines.append(f"| **{method}** | mean | {cells} | {statistics.mean(scores):.2f} | {show_seconds(seconds)} |")
    return "\n".join(lines)


def show_seconds(seconds: float) -> str:
    """Whole seconds; a dash where a file does not have them."""
    return "-" if math.isnan(seconds) else f"{seconds:.0f}"


def by_round(trials: list[Trial]) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
    """The trials' bests, and their means."""
    return [t.best for t in trials], [t.mean for t in trials]


def describe_differences(trials: list[Trial]) -> str:
    """ICPL less OpenLoop with the same seed: the mean of the last round, and the TS."""
    by_method = [{t.seed: t for t in trials if t.method == method} for method in METHODS]
    last, best = ([{n: f(t) for n, t in own.items()} for own in by_method] for f in (lambda t: t.mean[-1], score))
    return f"ICPL less OpenLoop: mean of the last round {subtract(*last)}; TS {subtract(*best)}."


def score(trial: Trial) -> float:
    """The TS."""
    return max(trial.best)


def save_trials(path: Path, trials: list[Trial]) -> None:
    """A line for each round."""
    rows = (
        (one.method, one.seed, n, best, mean, one.seconds)
        for one in trials
        for n, (best, mean) in enumerate(zip(one.best, one.mean, strict=True), 1)
    )
    write_table(path, COLUMNS, rows)


def read_trials(path: Path) -> list[Trial]:
    """The experiments of such a file."""
    found: dict[tuple[str, int], list[dict[str, str]]] = {}
    for row in read_table(path):
        found.setdefault((row["method"], int(row["seed"])), []).append(row)
    trials = []
    for (method, seed), rows in found.items():
        best, mean = (tuple(float(row[name]) for row in rows) for name in ("best", "mean"))
        trials.append(Trial(method, seed, best, mean, float(rows[0]["seconds"] or "nan")))
    return trials


def main() -> None:
    """Run what is missing, or read what was run, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning", description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="Ant")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--k", type=int, default=6)
    parser.add_argument("--n", type=int, default=5)
    parser.add_argument("--iterations", type=int, help="training iterations, in place of the quick preset's")
    parser.add_argument("--data", default=None, help="keep the experiments here, and reuse those that are there")
    parser.add_argument("--save", type=Path, help="write a line for each round to this file")
    parser.add_argument("--read", type=Path, help="read such a file; run nothing")
    arguments = parser.parse_args()
    if arguments.read:
        trials = read_trials(arguments.read)
        print(f"{table(trials, len(trials[0].best))}\n\n{describe_differences(trials)}")
        return
    with tempfile.TemporaryDirectory() as scratch:
        arguments.data = arguments.data or scratch
        trials = [run(method, seed, arguments) for seed in arguments.seeds for method in METHODS]
    print(f"{arguments.task}: RTS of each round's best (mean of the round)\n\n{machine()}\n")
    print(f"{table(trials, arguments.n)}\n\n{describe_differences(trials)}")
    if arguments.save:
        save_trials(arguments.save, trials)


if __name__ == "__main__":
    main()
