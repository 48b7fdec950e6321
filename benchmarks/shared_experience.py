"""What sharing experience among the K candidates of a round gives the human reward (SAC), and what it costs.

    python -m benchmarks.shared_experience [--tasks Cartpole Ant] [--k 1 2 6] [--seeds 0 1 2] [--only shared]

Equal settings side by side: each run trains the human reward beside K - 1 other sensible ones, with experience of
their own or shared, in one process. A line appears when a run has ended, and the tables at the end. Samples are those
of the human reward's own worlds. Processor seconds suffer less from other work on the machine than seconds do.
"""

from __future__ import annotations

import argparse
import csv
import resource
import statistics
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.variants import list_rewards
from simulation import catalog
from trainer import launch
from trainer.records import TrainJob, read_result, resolve_preset

PRESETS: dict[str, tuple[str, dict[str, float | int]]] = {
    "Cartpole": ("quick-sac", {"iterations": 120, "updates": 8, "replay": 200_000}),
    "Ant": (
        "paper-sac",
        {
            **{"worlds": 16, "horizon": 8, "iterations": 300, "updates": 8, "batch": 128, "replay": 250_000},
            **{"learning_starts": 2048, "actor_width": 32, "critic_width": 64, "critic_blocks": 1},
            **{"learning_rate": 1e-3, "target_rate": 0.01},
        },
    ),
}
"""Short trainings of small networks, which a busy machine can do. Ant has no quick preset with SAC: this is its
paper preset, made as small as Cartpole's. The replay holds all that six candidates live through.
"""
PARTS = 5
"""Points of a curve; each is the mean over the part of the training that ends there."""
HEADER = """import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(dof_pos: Tensor, dof_vel: Tensor, actions: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
"""
CARTPOLE = {
    "cosine": "torch.cos(dof_pos[:, 1])",
    "near the middle": "torch.exp(-4.0 * dof_pos[:, 1] ** 2) + 0.2 * torch.exp(-(dof_pos[:, 0] ** 2))",
    "calm": "1.0 - torch.abs(dof_pos[:, 1]) - 0.05 * torch.abs(dof_vel[:, 1])",
    "little effort": "1.0 - 2.0 * dof_pos[:, 1] ** 2 - 0.05 * actions[:, 0] ** 2",
    "steps": "(torch.abs(dof_pos[:, 1]) < 0.2).float() + (torch.abs(dof_pos[:, 1]) < 0.5).float()",
}


def list_sources(task: str) -> dict[str, str]:
    """Six sensible rewards, the human one first."""
    if task != "Cartpole":
        return list_rewards(task)
    others = {
        name: f'{HEADER}    total = {expression}\n    return total, {{"total_of_{number}": total}}\n'
        for number, (name, expression) in enumerate(CARTPOLE.items())
    }
    return {"human reference": catalog.read_reference_reward(task), **others}


@dataclass(frozen=True)
class Run:
    """The human reward in one training."""

    task: str
    k: int
    shared: bool
    seed: int
    samples: int
    seconds: float
    processor: float
    metric: list[float]
    """The metric's means over PARTS equal parts of the training."""
    reward: list[float]
    """The human reward's means a step, over the same parts."""
    of_all: list[float]
    """The metric of each of the K over the last part."""


def train(task: str, k: int, shared: bool, seed: int) -> Run:
    """Train and read the human reward's curves."""
    preset, overrides = PRESETS[task]
    sources = tuple(list_sources(task).values())[:k]
    job = TrainJob(task, sources, preset, seed, overrides, film_at=(), processes=1, shared_experience=shared)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        launch.train(Path(folder), job).wait()
        result = read_result(Path(folder))
        assert result is not None and not result.error, result
        human = result.candidates[0]
        assert human.ok, human.reason
        tables = [read_table(Path(folder, "traces", f"{index}.csv")) for index in range(k)]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    metric, reward = (average_parts(tables[0], name) for name in ("metric", "reward"))
    of_all = [average_parts(table, "metric")[-1] for table in tables]
    return Run(task, k, shared, seed, human.samples, result.seconds, used, metric, reward, of_all)


def read_table(path: Path) -> list[dict[str, str]]:
    """A training's course, a row per interval."""
    with path.open() as file:
        return list(csv.DictReader(file))


def average_parts(table: list[dict[str, str]], column: str) -> list[float]:
    """Means of a column over PARTS equal parts of the training."""
    curve = [float(row[column] or "nan") for row in table]
    size = len(curve) // PARTS
    return [statistics.fmean(curve[part * size : (part + 1) * size]) for part in range(PARTS)]


def print_run(run: Run) -> None:
    """One line as soon as it is known."""
    curves = [" ".join(f"{value:.3g}" for value in curve) for curve in (run.metric, run.reward, run.of_all)]
    how = "shared" if run.shared else "own"
    print(
        f"{run.task} K={run.k} {how} seed {run.seed}: metric {curves[0]}; reward {curves[1]}; "
        f"all K at the end {curves[2]}; "
        f"{run.seconds:.0f} s, {run.processor:.0f} s of processor time",
        flush=True,
    )


def print_table(task: str, runs: list[Run]) -> None:
    """Means over the seeds, with the smallest and the largest of the last part."""
    preset, overrides = PRESETS[task]
    samples = resolve_preset(TrainJob(task, (), preset, overrides=overrides)).samples
    print(f"\n{task}: {catalog.get_task(task).metric}, of the human reward; {samples:,} samples each\n")
    parts = " | ".join(f"{100 * (part + 1) // PARTS}%" for part in range(PARTS))
    print(
        f"| K | experience | seeds | {parts} | last, each seed | last, all K | reward a step, last | s | processor s |"
    )
    print("|---:|---|---:|" + "---:|" * PARTS + "---|---:|---:|---:|---:|")
    for k, shared in sorted({(run.k, run.shared) for run in runs}):
        equal = [run for run in runs if (run.k, run.shared) == (k, shared)]
        points = " | ".join(f"{mean(run.metric[part] for run in equal):.3g}" for part in range(PARTS))
        each = ", ".join(f"{run.metric[-1]:.3g}" for run in equal)
        costs = f"{mean(run.seconds for run in equal):.0f} | {mean(run.processor for run in equal):.0f}"
        rewards = f"{mean(run.reward[-1] for run in equal):.3g}"
        of_all = mean(mean(run.of_all) for run in equal)
        how = "shared" if shared else "its own"
        print(f"| {k} | {how} | {len(equal)} | {points} | {each} | {of_all:.3g} | {rewards} | {costs} |")


def mean(values: Iterable[float]) -> float:
    """The mean over the seeds."""
    return statistics.fmean(values)


def main() -> None:
    """Train all and print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.shared_experience", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--tasks", nargs="+", default=list(PRESETS), choices=list(PRESETS))
    parser.add_argument("--k", nargs="+", type=int, default=[1, 2, 6])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--only", choices=["shared", "own"], help="with sharing on, or off, alone")
    options = parser.parse_args()
    ways = [shared for shared in (False, True) if options.only != ("own" if shared else "shared")]
    print(f"{machine()}\n", flush=True)
    runs = []
    for task in options.tasks:
        for seed in options.seeds:
            for k in options.k:
                for shared in ways:
                    runs.append(train(task, k, shared, seed))
                    print_run(runs[-1])
        print_table(task, [run for run in runs if run.task == task])


if __name__ == "__main__":
    main()
