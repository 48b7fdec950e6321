"""Prefine's PEBBLE or SURF on HalfCheetah, in a table beside runs of B-Pref's or SURF's own code.

    PREFINE_TASKS=FOLDER python -m benchmarks.peers.bpref.compare --out OUT [--theirs RUN ...] [--save FILE] [...]
    python -m benchmarks.peers.bpref.compare --read docs/comparisons/bpref-returns.csv

README.md beside this file says how FOLDER and the RUNs are made. The training in OUT is not run again where it is.
A return is gymnasium's: the sum of a whole episode of 1 000 steps. Intervals are Student's t over seeds (95%).
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from benchmarks.compared import subtract
from benchmarks.kept import add_options, read_records, write_records
from benchmarks.machine import machine
from simulation import catalog
from trainer import launch
from trainer.estimates import Estimate, estimate_mean
from trainer.preferences.algorithms import METHODS, Preferences
from trainer.records import TrainJob, read_result

TASK = "HalfCheetah"
EPISODE = 1000
THEIRS = "their own code"
PARTS = 5
"""Parts of the training, of each of which the table has the mean return."""
EVALUATED = 5
"""Whole episodes without exploration, of each policy."""


@dataclass(frozen=True)
class Run:
    """One seed."""

    program: str
    seed: int
    fifth_1: float
    """Mean return while it explores, in the first fifth of the training."""
    fifth_2: float
    fifth_3: float
    fifth_4: float
    fifth_5: float
    final: float | None
    """Without exploration, at the end; None where only a beginning is compared."""
    seconds: float
    """Of a processor, for the whole training: without evaluations (theirs), with them (ours)."""
    steps: int

    @property
    def returns(self) -> list[float]:
        """While it explores, in each part of the training."""
        return [getattr(self, f"fifth_{part}") for part in range(1, PARTS + 1)]


def train(out: Path, options: argparse.Namespace) -> None:
    """Train all seeds in one job, and write down what it cost."""
    wanted = Preferences(options.baseline, options.queries, unsupervised=options.unsupervised)
    count, overrides = len(options.seeds), dict(options.override)
    sources = (catalog.read_reference_reward(TASK),) * count
    job = TrainJob(
        TASK, sources, "quick-sac", overrides=overrides, film_at=(), seeds=tuple(options.seeds),
        preferences=(wanted,) * count, processes=1, episodes=EVALUATED,
    )  # fmt: skip
    began = time.monotonic()
    launch.train(out, job).wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = read_result(out)
    if result is None or not all(candidate.ok for candidate in result.candidates):
        raise SystemExit(f"the training failed: see {out / 'log.txt'}")
    cost = {"processor_seconds": used.ru_utime + used.ru_stime, "wall_seconds": time.monotonic() - began}
    (out / "cost.json").write_text(json.dumps(cost | {"steps": result.candidates[0].samples}, indent=1))


def read_ours(out: Path, name: str, seeds: Sequence[int], until: int | None) -> Iterator[Run]:
    """Every seed of a training, or of its first steps."""
    cost, result = json.loads((out / "cost.json").read_text()), read_result(out)
    assert result is not None
    for seed, candidate in zip(seeds, result.candidates, strict=True):
        with (out / f"traces/{candidate.index}.csv").open() as file:
            points = [(int(row["samples"]), EPISODE * float(row["metric"])) for row in csv.DictReader(file)]
        final = None if until else EPISODE * candidate.evaluation["score"]
        share = cost["processor_seconds"] / len(result.candidates)
        yield Run(name, seed, *average_parts(points, until or cost["steps"]), final, share, cost["steps"])


def read_theirs(out: Path, seed: int, until: int | None) -> Run:
    """One run of `run_theirs.py`, or its first steps."""
    cost = json.loads((out / "cost.json").read_text())
    with (out / "train.csv").open() as file:
        rows = [(int(row["step"]), float(row["true_episode_reward"])) for row in csv.DictReader(file)]
    points = [(ended, value) for (ended, _), (_, value) in pairwise(rows)]  # a row has the episode before its own
    with (out / "eval.csv").open() as file:
        evaluated = [float(row["true_episode_reward"]) for row in csv.DictReader(file)]
    final = None if until else evaluated[-1]
    parts = average_parts(points, until or cost["steps"])
    return Run(THEIRS, seed, *parts, final, cost["processor_seconds"], cost["steps"])


def average_parts(points: Sequence[tuple[int, float]], steps: int) -> list[float]:
    """Mean of the values whose step, at which what they measure ended, lies in each of PARTS equal parts of `steps`."""
    parts: list[list[float]] = [[] for _ in range(PARTS)]
    for step, value in points:
        if step <= steps:
            parts[(step - 1) * PARTS // steps].append(value)
    return [statistics.mean(values) for values in parts]


def interval(estimate: Estimate) -> str:
    """Mean and 95% interval."""
    if estimate.low is None or estimate.high is None:
        return f"{estimate.mean:.0f}"
    return f"{estimate.mean:.0f} ({estimate.low:.0f} to {estimate.high:.0f})"


def render(runs: Sequence[Run], until: int | None = None) -> str:
    """A row for each program: return of each part and at the end, and processor seconds for 1 000 steps of a policy.
    Then the final policies, seed by seed.
    """
    steps = until or max(run.steps for run in runs)
    rows = {name: [run for run in runs if run.program == name] for name in dict.fromkeys(run.program for run in runs)}
    heads = [f"to {round(steps * (part + 1) / PARTS / 1000)}k" for part in range(PARTS)]
    lines = ["| | seeds | " + " | ".join([*heads, "final, without exploration", "s per 1,000 steps"]) + " |"]
    lines.append("|---" + "|---:" * (PARTS + 3) + "|")
    finals = {name: {run.seed: run.final for run in own if run.final is not None} for name, own in rows.items()}
    for name, own in rows.items():
        columns = [*zip(*(run.returns for run in own), strict=True)]
        cells = [interval(estimate_mean(list(column))) for column in columns]
        cells.append(interval(estimate_mean([*finals[name].values()])) if finals[name] else "")
        seconds = statistics.mean(1000 * run.seconds / run.steps for run in own)
        lines.append(f"| {name} | {len(own)} | {' | '.join(cells)} | {seconds:.2f} |")
    if len(rows) == 2 and all(finals.values()):
        said = "; ".join(f"{name} {', '.join(f'{v:.0f}' for v in of.values())}" for name, of in finals.items())
        lines += ["", f"Final by seed: {said}; the first less the second: {subtract(*finals.values())}."]
    return "\n".join(lines)


def _override(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    return name, float(number) if "." in number or "e" in number else int(number)


def main() -> None:
    """Train what is missing and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers.bpref.compare", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--out", type=Path, help="folder of Prefine's training")
    parser.add_argument(
        "--theirs", type=Path, nargs="+", default=[], metavar="RUN", help="folders of run_theirs.py, one for each seed"
    )
    parser.add_argument(
        "--baseline", default="pebble", choices=[name for name, m in METHODS.items() if m.algorithm == "sac"]
    )
    parser.add_argument("--queries", type=int, default=150)
    parser.add_argument("--unsupervised", type=float, default=0.1, help="share of the training (0.1)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument(
        "--override", type=_override, nargs="+", default=[], metavar="NAME=NUMBER", help="of the preset"
    )
    parser.add_argument("--until", type=int, metavar="STEP", help="compare the steps up to this one alone")
    add_options(parser)
    options = parser.parse_args()
    if options.read:
        print(render(read_records(options.read, Run)))
        return
    if options.out is None or (options.until and options.save):
        parser.error("give --out or --read; what --until cuts off is not kept")
    if not (options.out / "cost.json").exists():
        train(options.out, options)
    runs = [*read_ours(options.out, f"Prefine, {options.baseline}", options.seeds, options.until)]
    if options.theirs:
        runs += [read_theirs(run, seed, options.until) for run, seed in zip(options.theirs, options.seeds, strict=True)]
    print(f"{TASK}, {options.queries} answers\n\n{machine()}\n\n{render(runs, options.until)}")
    write_records(options.save, runs)


if __name__ == "__main__":
    main()
