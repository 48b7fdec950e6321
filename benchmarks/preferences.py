"""The table of the ICPL paper, ours: policies that learn from Q answers beside ICPL's with 49, sparse and human reward.

    python -m benchmarks.preferences [--data DIR] [--task Cartpole] [--baselines ...] [--queries ...] [--seeds ...]

A teacher without errors compares the summed human-written reward, or the metric. All numbers of queries and seeds of
one baseline and one truth are one job below DIR; a job that is there is read, one that was stopped goes on. With
--table nothing is trained: the table has what is there, and says what is not. ICPL's runs are those of
`benchmarks.learning` (its --data DIR/icpl). Where a task has no quick settings for SAC, those of Cartpole stand in
for them, for as many samples as its quick settings of PPO have.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks import learning
from benchmarks.machine import machine
from simulation import catalog
from trainer import launch
from trainer.estimates import estimate_mean
from trainer.preferences.algorithms import METHODS, TRUTHS, Preferences
from trainer.preferences.session_figures import read_sessions
from trainer.records import CandidateResult, TrainJob, read_result

BASELINES = ("prefppo", "pebble", "surf", "qpa")
QUERIES = (49, 150, 1500, 15_000)
EPISODES = 20
"""Whole episodes without exploration, over which each final policy is evaluated."""
FROM = ("human reward", "sparse reward")


@dataclass(frozen=True)
class Part:
    """Trainings that are one job, and a row of the table for each number of queries."""

    baseline: str
    """Of BASELINES; of ppo and sac where rewards are learned from instead of answers."""
    source: str
    """What the teacher compares, or the reward itself: of TRUTHS or FROM."""

    @property
    def learns_from_pairs(self) -> bool:
        """Whether there are answers."""
        return self.source in TRUTHS

    @property
    def algorithm(self) -> str:
        """What trains the policy."""
        return METHODS[self.baseline].algorithm if self.learns_from_pairs else self.baseline


@dataclass(frozen=True)
class Row:
    """The seeds of one line of the table."""

    name: str
    queries: int | None
    source: str
    scores: tuple[float, ...]
    """The highest metric of an interval of each training (RTS)."""
    final: tuple[float, ...] = ()
    """The metric of each final policy's mean actions."""
    right: tuple[float, ...] = ()
    """Share of the last session's answers that each model foretold."""


def list_parts(task: str, baselines: Sequence[str], truths: Sequence[str]) -> list[Part]:
    """Every job of the table, the references first."""
    algorithms = sorted({METHODS[name].algorithm for name in baselines})
    known = [truth for truth in truths if truth != "metric" or catalog.get_task(task).metric]
    references = [Part(algorithm, source) for algorithm in algorithms for source in FROM]
    return references + [Part(name, truth) for name in baselines for truth in known]


def choose_preset(task: str, algorithm: str, iterations: int | None) -> tuple[str, dict[str, float]]:
    """The settings of an algorithm by name, and what is replaced in them."""
    presets, quick = catalog.get_task(task).presets, catalog.get_preset(task, "quick")
    name, changed = "quick" if algorithm == "ppo" else "quick-sac", {}
    if name not in presets:
        stand_in = asdict(catalog.get_preset("Cartpole", name))
        stand_in["iterations"] = quick.samples // (stand_in["worlds"] * stand_in["horizon"])
        name, changed = "paper-sac", stand_in
    return name, changed | ({"iterations": iterations} if iterations else {})


def make_job(task: str, part: Part, options: argparse.Namespace) -> TrainJob:
    """The trainings of one part: all seeds for each number of queries."""
    preset, overrides = choose_preset(task, part.algorithm, options.iterations)
    wanted: list[Preferences | None] = [None]
    if part.learns_from_pairs:
        asked = Preferences(part.baseline, truth=part.source, segment=options.segment)
        wanted = [replace(asked, budget=queries) for queries in options.queries]
    seeds = tuple(seed for _ in wanted for seed in options.seeds)
    return TrainJob(
        task,
        (catalog.read_reference_reward(task),) * len(seeds),
        preset,
        overrides=overrides,
        film_at=(),
        seeds=seeds,
        preferences=tuple(one for one in wanted for _ in options.seeds) if part.learns_from_pairs else (),
        by_metric=part.source == "sparse reward",
        episodes=EPISODES,
    )


def folder_of(task: str, part: Part, options: argparse.Namespace) -> Path:
    """Where the job of a part is: another one for other seeds, queries or settings."""
    name = f"{task} {part.baseline} {part.source} {options.segment} {options.iterations or 'quick'}"
    numbers = [*(options.queries if part.learns_from_pairs else []), "seeds", *options.seeds]
    return Path(options.data, "-".join([*name.split(), *map(str, numbers)]))


def read_rows(task: str, part: Part, options: argparse.Namespace) -> Iterator[Row]:
    """A row for each number of queries of a finished part; nothing of one that is not finished."""
    folder = folder_of(task, part, options)
    result = read_result(folder)
    if result is None or result.error:
        return
    count = len(options.seeds)
    for number, queries in enumerate(options.queries if part.learns_from_pairs else [None]):
        candidates = [one for one in result.candidates[number * count : (number + 1) * count] if one.ok]
        name = METHODS[part.baseline].title if part.learns_from_pairs else part.baseline.upper()
        right = [sessions[-1].accuracy_before for one in candidates if (sessions := read_sessions(folder, one.index))]
        yield Row(
            name,
            queries,
            part.source,
            tuple(one.rts for one in candidates if one.rts is not None),
            tuple(_read_score(one) for one in candidates),
            tuple(share for share in right if share is not None),
        )


def _read_score(candidate: CandidateResult) -> float:
    return float(candidate.evaluation["score"])


def read_icpl(task: str, options: argparse.Namespace) -> Iterator[Row]:
    """ICPL's row, of the experiments of `benchmarks.learning` that are there."""
    arguments = argparse.Namespace(
        task=task, k=6, n=5, iterations=options.iterations, data=str(Path(options.data, "icpl"))
    )
    here = [seed for seed in options.seeds if (learning.folder_of("icpl", seed, arguments) / "done.json").exists()]
    scores = tuple(max(learning.run("icpl", seed, arguments).best) for seed in here)
    if scores:
        yield Row("ICPL, K=6, N=5, offline writer", 49, "metric", scores)


def table(rows: Sequence[Row], seeds: int) -> str:
    """A line for each row: means over the seeds with their 95% intervals."""
    lines = ["| learns | from | Q | seeds | RTS | highest | final policy | right on the last new answers |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        highest = f"{max(row.scores):.4g}" if row.scores else ""
        found = f"{len(row.scores)} of {seeds}" if len(row.scores) < seeds else f"{seeds}"
        cells = [row.name, row.source, f"{row.queries or ''}", found]
        cells += [interval(row.scores), highest, interval(row.final), interval(row.right)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def interval(values: Sequence[float]) -> str:
    """Mean and 95% interval over seeds; where all are equal there is no interval."""
    if not values:
        return ""
    found = estimate_mean(values)
    if found.low is None or found.high is None:
        return f"{found.mean:.4g}"
    return f"{found.mean:.4g} ({found.low:.4g} to {found.high:.4g})"


def main() -> None:
    """Read what is wanted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.preferences", description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="Cartpole")
    parser.add_argument("--baselines", nargs="+", default=BASELINES, choices=METHODS, metavar="NAME")
    parser.add_argument("--queries", type=int, nargs="+", default=list(QUERIES), metavar="Q")
    parser.add_argument("--truths", nargs="+", default=TRUTHS, choices=TRUTHS, metavar="TRUTH")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--segment", type=int, default=50, help="control steps; 0: whole episodes (%(default)s)")
    parser.add_argument("--iterations", type=int, help="training iterations, in place of the quick settings'")
    parser.add_argument("--data", help="keep the trainings here, and reuse those that are there")
    parser.add_argument("--table", action="store_true", help="train nothing")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        options.data = options.data or scratch
        print_table(catalog.find_task_name(options.task), options)


def print_table(task: str, options: argparse.Namespace) -> None:
    """Train what is missing, unless only the table is wanted, and print it."""
    rows, missing = [*read_icpl(task, options)], []
    if not rows:
        missing.append("ICPL")
    for part in list_parts(task, options.baselines, options.truths):
        folder = folder_of(task, part, options)
        if not options.table and read_result(folder) is None:
            launch.train(folder, make_job(task, part, options), die_with_parent=True).wait()
        found = [*read_rows(task, part, options)]
        rows += found
        if not found:
            missing.append(f"{part.baseline} ({part.source})")
    print(
        f"{task}, segments of {options.segment or 'whole episodes'}\n\n{machine()}\n\n{table(rows, len(options.seeds))}"
    )
    if missing:
        print(f"\nNot run: {', '.join(missing)}.")


if __name__ == "__main__":
    main()
