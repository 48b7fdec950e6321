"""What sharing experience among the K candidates of a round gives the human reward (SAC), and what it costs.

    python -m benchmarks.shared_experience [--tasks Cartpole BallBalance] [--k 1 2 6] [--seeds 0 1 2] [--save FILE]
    python -m benchmarks.shared_experience --read docs/comparisons/shared-experience.csv

Each run trains the human reward to the end of its preset, alone or beside K - 1 other sensible rewards with shared
experience, in one process. With experience of its own it learns the same, bit for bit, in any company, so K=1 stands
for that. Processor seconds suffer less from other work on the machine than seconds do. Intervals are Student's t over
seeds (95%).
"""

from __future__ import annotations

import argparse
import itertools
import resource
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.compared import spread, subtract
from benchmarks.kept import read_table, write_table
from benchmarks.machine import machine
from simulation import catalog
from trainer import launch
from trainer.records import TrainJob, read_result

PRESET = "quick-sac"
PARTS = 10
"""Points of a curve; each is the mean over the part of the training that ends there."""
COLUMNS = ("task", "k", "shared", "seed", "samples", "processor", "of_all", "part", "metric")
SOURCE = """import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward({inputs}) -> Tuple[Tensor, Dict[str, Tensor]]:
    total = {total}
    return total, {{"total_of_{number}": total}}
"""
INPUTS = {
    "Cartpole": "dof_pos: Tensor, dof_vel: Tensor, actions: Tensor",
    "BallBalance": "ball_positions: Tensor, ball_linvels: Tensor, actions: Tensor",
}
AWAY = "torch.norm(ball_positions[:, :2], dim=-1)"
OTHERS = {
    "Cartpole": (
        "torch.cos(dof_pos[:, 1])",
        "torch.exp(-4.0 * dof_pos[:, 1] ** 2) + 0.2 * torch.exp(-(dof_pos[:, 0] ** 2))",
        "1.0 - torch.abs(dof_pos[:, 1]) - 0.05 * torch.abs(dof_vel[:, 1])",
        "1.0 - 2.0 * dof_pos[:, 1] ** 2 - 0.05 * actions[:, 0] ** 2",
        "(torch.abs(dof_pos[:, 1]) < 0.2).float() + (torch.abs(dof_pos[:, 1]) < 0.5).float()",
    ),
    "BallBalance": (
        f"1.0 - 2.0 * {AWAY}",
        f"torch.exp(-8.0 * {AWAY} ** 2)",
        f"1.0 - {AWAY} - 0.2 * torch.norm(ball_linvels[:, :2], dim=-1)",
        f"1.0 - {AWAY} - 0.02 * torch.sum(actions**2, dim=-1)",
        f"({AWAY} < 0.1).float() + ({AWAY} < 0.3).float()",
    ),
}
"""What five more sensible rewards of a task pay for: the middle, quiet motion, little effort."""


def list_sources(task: str) -> tuple[str, ...]:
    """Six sensible rewards, the human one first."""
    others = (
        SOURCE.format(inputs=INPUTS[task], total=total, number=number) for number, total in enumerate(OTHERS[task])
    )
    return catalog.read_reference_reward(task), *others


@dataclass(frozen=True)
class Run:
    """One training, and how the human reward fared in it."""

    task: str
    k: int
    shared: bool
    seed: int
    samples: int
    processor: float
    metric: list[float]
    """The metric's means over PARTS equal parts of the training."""
    of_all: float
    """The metric over the last part, the mean of the K."""

    @property
    def arm(self) -> tuple[int, bool]:
        """What runs with other seeds have in common."""
        return self.k, self.shared


def train(task: str, k: int, shared: bool, seed: int) -> Run:
    """Train and read the curves."""
    sources = list_sources(task)[:k]
    job = TrainJob(task, sources, PRESET, seed, film_at=(), processes=1, shared_experience=shared)
    before = count_processor_seconds()
    with tempfile.TemporaryDirectory() as folder:
        launch.train(Path(folder), job).wait()
        result = read_result(Path(folder))
        assert result is not None and not result.error, result
        human = result.candidates[0]
        assert human.ok, human.reason
        tables = [read_table(Path(folder, "traces", f"{index}.csv")) for index in range(k)]
    curves = [average_parts(table, "metric") for table in tables]
    of_all = statistics.fmean(curve[-1] for curve in curves)
    return Run(task, k, shared, seed, human.samples, count_processor_seconds() - before, curves[0], of_all)


def count_processor_seconds() -> float:
    """Of all processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def average_parts(table: list[dict[str, str]], column: str) -> list[float]:
    """Means of a column over PARTS equal parts of the training."""
    curve = [float(row[column] or "nan") for row in table]
    size = len(curve) // PARTS
    return [statistics.fmean(curve[part * size : (part + 1) * size]) for part in range(PARTS)]


def write(path: Path, runs: Sequence[Run]) -> None:
    """A line for each point of each curve."""
    rows: list[tuple[object, ...]] = []
    for run in runs:
        head = (run.task, run.k, int(run.shared), run.seed, run.samples, round(run.processor, 1))
        rows += [(*head, round(run.of_all, 2), part, f"{value:.4g}") for part, value in enumerate(run.metric)]
    write_table(path, COLUMNS, rows)


def read(path: Path) -> list[Run]:
    """What `write` wrote."""
    found: dict[tuple[str, ...], list[dict[str, str]]] = defaultdict(list)
    for row in read_table(path):
        found[row["task"], row["k"], row["shared"], row["seed"]].append(row)
    return [
        Run(task, int(k), shared == "1", int(seed), int(rows[0]["samples"]), float(rows[0]["processor"]),
            [float(row["metric"]) for row in rows], float(rows[0]["of_all"]))
        for (task, k, shared, seed), rows in found.items()
    ]  # fmt: skip


def render(runs: Sequence[Run]) -> str:
    """A table of curves, and one of their ends, for each task."""
    tasks = dict.fromkeys(run.task for run in runs)
    return "\n\n".join(render_task(task, [run for run in runs if run.task == task]) for task in tasks)


def render_task(task: str, runs: Sequence[Run]) -> str:
    """How far each arm's human reward was over the training, and at its end."""
    arms = {arm: [run for run in runs if run.arm == arm] for arm in sorted({run.arm for run in runs})}
    first = {run.seed: run.metric[-1] for run in next(iter(arms.values()))}
    parts = " | ".join(f"{100 * (part + 1) // PARTS}%" for part in range(PARTS))
    heads = "| K | experience | processor seconds, all K |"
    curves = [f"{heads} {parts} |", "|---:|---|---:|" + "---:|" * PARTS]
    ends = ["| K | experience | by seed | mean | less the first | mean of all K |", "|---:|---|---|---|---|---:|"]
    for (k, shared), equal in arms.items():
        arm = f"| {k} | {'shared' if shared else 'its own'} |"
        points = (statistics.fmean(run.metric[part] for run in equal) for part in range(PARTS))
        seconds = statistics.fmean(run.processor for run in equal)
        curves.append(f"{arm} {seconds:.0f} | {' | '.join(f'{point:.3g}' for point in points)} |")
        last = {run.seed: run.metric[-1] for run in equal}
        by_seed = ", ".join(f"{value:.3g}" for value in last.values())
        gap = "" if last == first else subtract(last, first)
        of_all = statistics.fmean(run.of_all for run in equal)
        ends.append(f"{arm} {by_seed} | {spread([*last.values()])} | {gap} | {of_all:.3g} |")
    title = f"### {task}: {catalog.get_task(task).metric}; {runs[0].samples:,} samples each"
    return "\n".join([title, "", *curves, "", *ends])


def main() -> None:
    """Train all, or read what was kept, and print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.shared_experience", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--tasks", nargs="+", default=list(OTHERS), choices=list(OTHERS))
    parser.add_argument("--k", nargs="+", type=int, default=[1, 2, 6])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the curves, and go on with those it holds")
    parser.add_argument("--read", type=Path, metavar="FILE", help="print the tables of such a file, train nothing")
    options = parser.parse_args()
    if options.read:
        print(render(read(options.read)))
        return
    print(f"{machine()}\n", flush=True)
    runs = read(options.save) if options.save and options.save.exists() else []
    known = {(run.task, run.k, run.seed) for run in runs if run.shared or run.k == 1}
    for task, seed, k in itertools.product(options.tasks, options.seeds, options.k):
        if (task, k, seed) not in known:
            runs.append(train(task, k, k > 1, seed))
            print(runs[-1], flush=True)
        if options.save:
            write(options.save, runs)
    print(render(runs))


if __name__ == "__main__":
    main()
