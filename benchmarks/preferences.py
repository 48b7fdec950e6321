"""The table of the ICPL paper, ours: policies that learn from Q answers beside ICPL's with 49, sparse and human reward.

    python -m benchmarks.preferences [--data DIR] [--task Cartpole] [--baselines ...] [--queries ...] [--save FILE]
    python -m benchmarks.preferences --read docs/comparisons/preferences.csv

A teacher without errors compares the summed human-written reward, or the metric. All numbers of queries and seeds of
one baseline and one truth are one job below DIR; a job that is there is read, one that was stopped goes on. With
--table nothing is trained: the table has what is there, and says what is not. --save writes a line for each policy and
keeps the lines of others that the file has, so that seeds may be trained one by one; rows that it has with today's
settings are not trained again. --read prints the tables of such a file, and marks rows that were trained with other
settings. ICPL's runs are those of `benchmarks.learning` (its --data DIR/icpl; where there are none, those kept in
docs/comparisons). Where a task has no quick settings for SAC, those of Cartpole stand in for them, for as many samples
as its quick settings of PPO have.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks import kept, learning
from benchmarks.compared import subtract
from benchmarks.kept import KEPT, read_table, write_table
from benchmarks.machine import machine
from simulation import catalog
from trainer import launch
from trainer.estimates import estimate_mean
from trainer.preferences.algorithms import METHODS, TRUTHS, Preferences
from trainer.preferences.session_figures import read_sessions
from trainer.records import CandidateResult, TrainJob, read_result, resolve_preset

BASELINES = ("prefppo", "pebble", "surf", "qpa")
QUERIES = (49, 150, 1500, 15_000)
EPISODES = 20
"""Whole episodes without exploration, over which each final policy is evaluated."""
FROM = ("human reward", "sparse reward")
ICPL = "ICPL, K=6, N=5, offline writer"
COLUMNS = ("task", "learns", "source", "queries", "settings", "seed", "rts", "final", "right")


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
class Policy:
    """What one training reached."""

    rts: float | None
    """The highest metric of an interval; for ICPL, of all its trainings (TS)."""
    final: float | None = None
    """The metric of the final policy's mean actions."""
    right: float | None = None
    """Share of the last session's answers that the model foretold."""


@dataclass(frozen=True)
class Row:
    """One line of the table: policies by seed."""

    name: str
    queries: int | None
    source: str
    policies: Mapping[int, Policy]
    settings: str = ""
    """What `name_settings` said when it was trained; empty for ICPL's."""
    outdated: bool = False
    """Whether it says something else today."""

    def read(self, figure: str) -> dict[int, float]:
        """A figure of Policy by seed, of those that have it."""
        found = {seed: getattr(policy, figure) for seed, policy in self.policies.items()}
        return {seed: value for seed, value in found.items() if value is not None}


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


def name_settings(task: str, part: Part, queries: int | None, options: argparse.Namespace) -> str:
    """The task's revision, and digits that change with anything but the seed that a row is made of."""
    one = argparse.Namespace(**vars(options) | {"queries": [queries], "seeds": [0]})
    job = make_job(task, part, one)
    return kept.name_settings(task, asdict(resolve_preset(job)), job.sources, job.by_metric, job.preferences)


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
    name = METHODS[part.baseline].title if part.learns_from_pairs else part.baseline.upper()
    for number, queries in enumerate(options.queries if part.learns_from_pairs else [None]):
        candidates = result.candidates[number * count : (number + 1) * count]
        of_seeds = zip(options.seeds, candidates, strict=True)
        policies = {seed: _read_policy(folder, one) for seed, one in of_seeds if one.ok}
        yield Row(name, queries, part.source, policies, name_settings(task, part, queries, options))


def _read_policy(folder: Path, candidate: CandidateResult) -> Policy:
    sessions = read_sessions(folder, candidate.index)
    right = sessions[-1].accuracy_before if sessions else None
    return Policy(candidate.rts, float(candidate.evaluation["score"]), right)


def read_icpl(task: str, options: argparse.Namespace) -> Iterator[Row]:
    """ICPL's row, of the experiments of `benchmarks.learning` that are there; else of those in docs/comparisons."""
    arguments = argparse.Namespace(
        task=task, k=6, n=5, iterations=options.iterations, data=str(Path(options.data, "icpl"))
    )
    here = [seed for seed in options.seeds if (learning.folder_of("icpl", seed, arguments) / "done.json").exists()]
    found = {seed: max(learning.run("icpl", seed, arguments).best) for seed in here} or _read_kept(task, options)
    if found:
        yield Row(ICPL, 49, "metric", {seed: Policy(score) for seed, score in found.items()})


def _read_kept(task: str, options: argparse.Namespace) -> dict[int, float]:
    """TS by seed of ICPL's kept experiments with *quick* settings."""
    path = KEPT / f"learning-{task.lower()}.csv"
    if options.iterations or not path.exists():
        return {}
    trials = [one for one in learning.read_trials(path) if one.method == "icpl" and one.seed in options.seeds]
    return {one.seed: learning.score(one) for one in trials}


def table(rows: Sequence[Row], seeds: int) -> str:
    """A line for each row: means over the seeds with their 95% intervals."""
    lines = ["| learns | from | Q | seeds | RTS | less ICPL's | final policy | right on the last new answers |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|---:|")
    icpl = next((row.read("rts") for row in rows if row.name == ICPL), {})
    for row in rows:
        scores = row.read("rts")
        found = f"{len(scores)} of {seeds}" if len(scores) < seeds else f"{seeds}"
        name = f"{row.name}{'*' if row.outdated else ''}"
        cells = [name, row.source, f"{row.queries or ''}", found, interval(scores.values())]
        cells += [subtract(scores, icpl) if icpl and row.name != ICPL else ""]
        cells += [interval(row.read(figure).values()) for figure in ("final", "right")]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def interval(found: Iterable[float]) -> str:
    """Mean and 95% interval over seeds; where all are equal there is no interval."""
    values = list(found)
    if not values:
        return ""
    mean = estimate_mean(values)
    if mean.low is None or mean.high is None:
        return f"{mean.mean:.4g}"
    return f"{mean.mean:.4g} ({mean.low:.4g} to {mean.high:.4g})"


def save_rows(path: Path, task: str, rows: Sequence[Row]) -> None:
    """A line for each policy; lines that the file has of other rows stay, and of other seeds with the same settings."""
    stored = read_tables(path) if path.exists() else {}
    ours = {(row.name, row.queries, row.source): row for row in rows}
    others = []
    for row in stored.get(task, []):
        new = ours.get((row.name, row.queries, row.source))
        if new is None:
            others.append(row)
        elif new.settings == row.settings:
            ours[new.name, new.queries, new.source] = replace(new, policies=dict(row.policies) | dict(new.policies))
    lines = (
        (name, row.name, row.source, row.queries, row.settings, seed, one.rts, one.final, one.right)
        for name, of_task in (stored | {task: [*others, *ours.values()]}).items()
        for row in sorted(of_task, key=order_row)
        for seed, one in row.policies.items()
    )
    write_table(path, COLUMNS, lines)


def read_tables(path: Path) -> dict[str, list[Row]]:
    """The rows of such a file by task, the references and ICPL first."""
    found: dict[tuple[str, str, str, int | None, str], dict[int, Policy]] = {}
    for line in read_table(path):
        queries = int(line["queries"]) if line["queries"] else None
        key = (line["task"], line["learns"], line["source"], queries, line["settings"])
        figures = (float(line[name]) if line[name] else None for name in ("rts", "final", "right"))
        found.setdefault(key, {})[int(line["seed"])] = Policy(*figures)
    tables: dict[str, list[Row]] = {}
    for (task, name, source, queries, settings), policies in found.items():
        tables.setdefault(task, []).append(Row(name, queries, source, policies, settings))
    return {task: sorted(rows, key=order_row) for task, rows in tables.items()}


def mark_outdated(task: str, rows: Sequence[Row], options: argparse.Namespace) -> list[Row]:
    """The same rows; those that were trained with other settings than today's say so."""
    return [replace(row, outdated=row.name != ICPL and not is_current(task, row, options)) for row in rows]


def is_current(task: str, row: Row, options: argparse.Namespace) -> bool:
    """Whether it was trained with today's settings."""
    baselines = {method.title: name for name, method in METHODS.items()}
    part = Part(baselines.get(row.name, row.name.lower()), row.source)
    return row.settings == name_settings(task, part, row.queries, options)


def find_kept(task: str, part: Part, options: argparse.Namespace) -> list[Row]:
    """The rows of a part that the file to save to has with today's settings and every seed."""
    stored = read_tables(options.save).get(task, []) if options.save and options.save.exists() else []
    name = METHODS[part.baseline].title if part.learns_from_pairs else part.baseline.upper()
    wanted = set(options.queries) if part.learns_from_pairs else {None}
    ours = [row for row in stored if (row.name, row.source) == (name, part.source) and row.queries in wanted]
    return [row for row in ours if set(options.seeds) <= row.policies.keys() and is_current(task, row, options)]


def order_row(row: Row) -> tuple[bool, bool, int, int, int]:
    """The place of a row in its table: the references and ICPL first, then by baseline, source and queries."""
    titles, sources = [METHODS[name].title for name in BASELINES], [*FROM, *TRUTHS]
    place = titles.index(row.name) if row.name in titles else -1
    return row.queries is not None, row.name != ICPL, place, sources.index(row.source), row.queries or 0


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
    parser.add_argument("--save", type=Path, metavar="FILE", help="add what each policy reached to this file")
    parser.add_argument("--read", type=Path, metavar="FILE", help="print the tables of this file")
    options = parser.parse_args()
    if options.read:
        for task, rows in read_tables(options.read).items():
            print(f"{task}\n\n{table(mark_outdated(task, rows, options), len(options.seeds))}\n")
        return
    with tempfile.TemporaryDirectory() as scratch:
        options.data = options.data or scratch
        print_table(catalog.find_task_name(options.task), options)


def print_table(task: str, options: argparse.Namespace) -> None:
    """Train what is missing, unless only the table is wanted, and print it."""
    rows, missing = [*read_icpl(task, options)], []
    if not rows:
        missing.append("ICPL")
    for part in list_parts(task, options.baselines, options.truths):
        found = find_kept(task, part, options)
        if len(found) < (len(set(options.queries)) if part.learns_from_pairs else 1):
            folder = folder_of(task, part, options)
            if not options.table and read_result(folder) is None:
                launch.train(folder, make_job(task, part, options), die_with_parent=True).wait()
            found = [*read_rows(task, part, options)] or found
        rows += found
        if not found:
            missing.append(f"{part.baseline} ({part.source})")
    print(
        f"{task}, segments of {options.segment or 'whole episodes'}\n\n{machine()}\n\n{table(rows, len(options.seeds))}"
    )
    if options.save:
        save_rows(options.save, task, rows)
    if missing:
        print(f"\nNot run: {', '.join(missing)}.")


if __name__ == "__main__":
    main()
