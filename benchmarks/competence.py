"""Does every task learn under its human-written and its sparse reward? Several seeds, beside the papers' scores.

    ./prefine benchmark competence [--tasks Ant Humanoid] [--rewards human sparse] [--seeds 0 1 2] [--save FILE]
    ./prefine benchmark competence --read docs/comparisons/competence.csv

The preset is *quick*, or the one that is named. Trains task by task on all cores, the seeds of a task in one batch; a
run that was stopped goes on. --save writes a line for each policy and leaves those of others as they are; what it has
with today's revision, preset and reward is not trained again. --read trains nothing: it prints the table of such a
file, and marks what was trained with other settings than today's. All tasks: some days of two cores.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from benchmarks import kept
from benchmarks.kept import KEPT, add_options, read_records, read_table, write_records
from benchmarks.machine import machine
from benchmarks.published import references
from benchmarks.shared_experience import count_processor_seconds
from simulation import catalog
from trainer import launch
from trainer.commands.train import format_duration, format_training
from trainer.evaluation import SEEDS, evaluate
from trainer.records import CandidateResult, TrainJob, read_progress, read_result, resolve_preset
from webapp.base.statistics.group_tests import summarize_mean

DATA = Path(os.environ.get("PREFINE_DATA", "var")) / "benchmarks" / "competence"
EPISODES = 20
"""Whole episodes with mean actions from each of SEEDS, over which a policy is evaluated."""
REWARDS = ("human", "sparse")
"""The sparse one is the task's own, or the metric itself where a task has none."""
TELL_SECONDS = 30.0
ROOT = Path(__file__).resolve().parents[1]
CODE = ("info.py", "observations.py", "task.py")
INCLUDED = re.compile(r'<(?:include|model)\s[^>]*file="([^"]+)"')
IMPORTED = re.compile(r"^from (simulation\.(?:tasks|robots)[\w.]*) import \(?\s*(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """One policy."""

    task: str
    preset: str
    reward: str
    """Of REWARDS."""
    settings: str
    """What `name_settings` said when it was trained."""
    seed: int
    samples: int
    rts: float | None
    """The highest interval of the exploring policy."""
    last: float | None
    """Its last interval."""
    evaluated: float | None
    """Mean of whole episodes without exploration."""
    length: float | None
    """Their mean length in steps."""
    processor: float | None
    """Seconds of a processor; None where the training was stopped on the way."""
    failure: str = ""

    @property
    def known(self) -> bool:
        """Whether it was trained with today's settings."""
        return self.settings == name_settings(self.task, self.preset, self.reward)


def name_settings(task: str, preset: str, reward: str) -> str:
    """The task's revision, and digits that change with the preset or the reward's text."""
    return kept.name_settings(task, asdict(catalog.get_preset(task, preset)), *find_source(task, reward))


def find_source(task: str, reward: str) -> tuple[str, bool]:
    """The reward function, and whether the policy learns from the metric in its place."""
    human, sparse = catalog.read_reference_reward(task), catalog.read_sparse_reward(task)
    return (human, False) if reward == "human" else (sparse or human, not sparse)


def make_job(task: str, reward: str, preset: str, seeds: Sequence[int]) -> TrainJob:
    """The trainings of these seeds, in one batch."""
    source, by_metric = find_source(task, reward)
    return TrainJob(task, (source,) * len(seeds), preset, seeds=tuple(seeds), film_at=(100,), by_metric=by_metric)


def folder_of(job: TrainJob, data: Path) -> Path:
    """The folder of this job's run; another one when preset, reward or anything that the task is made of changes."""
    by_metric = ("by metric",) if job.by_metric else ()
    digest = hashlib.sha256(repr((asdict(resolve_preset(job)), job.sources, *by_metric)).encode())
    for file in list_files(job.task):
        digest.update(file.read_bytes())
    seeds = "-".join(map(str, job.seeds))
    return data / f"{job.task}-{job.preset}-{seeds}-{digest.hexdigest()[:10]}"


def list_files(task: str) -> list[Path]:
    """What a task is made of: its model, code and info, and what these include or import of other tasks and robots."""
    folder = catalog.find_folder(task)
    waiting = [folder / catalog.get_task(task).model_file, *(folder / name for name in CODE)]
    found: set[Path] = set()
    while waiting:
        file = waiting.pop()
        if file in found or not file.is_file():
            continue
        found.add(file)
        text = file.read_text()
        if (
            file.suffix == ".xml"
        ):  # MuJoCo looks for what is included from the model's own folder, for models from the file's
            waiting += [(place / name).resolve() for name in INCLUDED.findall(text) for place in (folder, file.parent)]
        for module, name in IMPORTED.findall(text):
            path = ROOT / module.replace(".", "/")
            waiting += [path.with_suffix(".py"), path / f"{name}.py"]
    return sorted(found)


def train(job: TrainJob, reward: str, data: Path) -> list[Run]:
    """Train the seeds of this job, if they are not there, and evaluate them."""
    folder = folder_of(job, data)
    result = read_result(folder)
    begun, before = folder.exists(), count_processor_seconds()
    if result is None or result.error or result.cancelled:
        process = launch.train(folder, job, die_with_parent=True)
        try:
            while process.poll() is None:
                print_progress(f"{job.task}, {reward}: {format_training(read_progress(folder))}")
                wait(process)
        except KeyboardInterrupt:
            launch.stop(process)
            raise
        result = read_result(folder)
    seconds = None if begun else (count_processor_seconds() - before) / len(job.seeds)
    if result is None or result.error:
        raise SystemExit(f"{job.task}: {result.error if result else ''} (see {folder / 'log.txt'})")
    return [
        evaluate_seed(folder, job, reward, candidate, seed, seconds)
        for seed, candidate in zip(job.seeds, result.candidates, strict=True)
    ]


def evaluate_seed(
    folder: Path, job: TrainJob, reward: str, candidate: CandidateResult, seed: int, seconds: float | None
) -> Run:
    """The scores of one seed, and of its policy without exploration."""
    settings = name_settings(job.task, job.preset, reward)
    known = (job.task, job.preset, reward, settings, seed, candidate.samples)
    if not candidate.ok:
        return Run(*known, None, None, None, None, shorten(seconds), candidate.reason)
    found, _ = evaluate(folder / "checkpoints" / "policies" / f"{candidate.index}.pt", SEEDS, EPISODES)
    score = found.score.mean if found.score else None
    reached = map(shorten, (candidate.rts, candidate.final_score, score, found.episode_length.mean, seconds))
    rts, last, evaluated, length, processor = reached
    return Run(*known, rts, last, evaluated, length, processor)


def shorten(figure: float | None) -> float | None:
    """Six digits of it."""
    return None if figure is None else float(f"{figure:.6g}")


def order_run(run: Run) -> tuple[str, str, str, int]:
    """The place of a line in the file, where a new run of the same replaces it."""
    return run.task, run.reward, run.preset, run.seed


def render(runs: Sequence[Run]) -> str:
    """The table of all tasks that have a run, by kind, and which have none."""
    of_task: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        of_task[run.task, run.preset].append(run)
    heads = ["task, preset", "metric", "inputs, actions", "steps/s", "of bare physics", "samples"]
    heads += ["human reward, by seed", "mean", "sparse, by seed", "mean", "printed: human", "sparse"]
    heads += ["processor s a seed"]
    lines = [f"| {' | '.join(heads)} |", "|---|---|---|---:|---:|---:|---|---|---|---|---|---|---:|"]
    ordered = [name for names in catalog.group_tasks().values() for name in names]
    for (task, preset), found in sorted(of_task.items(), key=lambda item: ordered.index(item[0][0])):
        lines.append(render_row(task, preset, found))
    absent = [task for task in ordered if task not in {run.task for run in runs}]
    return "\n".join([*lines, "", f"Without a run: {', '.join(absent) or 'no task'}."])


def render_row(task: str, preset: str, runs: Sequence[Run]) -> str:
    """A task's line: what its policies reached with mean actions."""
    info, printed = catalog.get_task(task), references(task)
    cells = [f"{task}, {preset}", shorten_metric(info.metric), f"{info.num_obs}, {info.num_actions}"]
    cells += read_speeds().get(task, ("", ""))
    cells.append(f"{max(run.samples for run in runs):,}")
    for reward in REWARDS:
        scores = [run.evaluated for run in runs if run.reward == reward and run.evaluated is not None]
        by_seed = [format_run(run) for run in runs if run.reward == reward]
        cells += [", ".join(by_seed), format_mean(scores, info.metric or "")]
    seconds = [run.processor for run in runs if run.processor is not None]
    cells += [printed.get(method, "") for method in ("Human", "Sparse")]
    return f"| {' | '.join([*cells, f'{max(seconds):.0f}' if seconds else ''])} |"


@cache
def read_speeds() -> dict[str, tuple[str, str]]:
    """Task -> control steps a second with observation and reward, and its ratio to bare physics, as kept."""
    rows = read_table(KEPT / "stepping.csv")
    return {row["task"]: (f"{int(row['ours']):,}", f"{float(row['ratio']):.2f}") for row in rows}


def format_run(run: Run) -> str:
    """What one policy reached; with a star where it was trained with other settings than today's."""
    reached = run.failure.replace("|", "/") if run.evaluated is None else f"{run.evaluated:.3g}"
    return f"{reached}{'' if run.known else '*'}"


def format_mean(scores: Sequence[float], metric: str) -> str:
    """Mean of the seeds with Student's 95% interval; of shares it ends at 0 and 1."""
    if len(scores) < 2:
        return ""
    found = summarize_mean(scores)
    if not found.deviation or found.interval is None:
        return f"{found.mean:.3g}"
    low, high = found.interval.low, found.interval.high
    if metric.startswith(catalog.SUCCESS):
        low, high = max(0.0, low), min(1.0, high)
    return f"{found.mean:.3g} ({low:.3g} to {high:.3g})"


def shorten_metric(metric: str | None) -> str:
    """What is measured, in a few words."""
    return "success" if (metric or "").startswith(catalog.SUCCESS) else metric or "none: people decide"


def wait(process: subprocess.Popen[bytes]) -> None:
    """Seconds until the next line of progress, or the end."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(TELL_SECONDS)


def print_progress(line: str) -> None:
    """Progress, beside the table."""
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    """Train what is missing, or read what was kept, and print the table."""
    tasks = list(catalog.list_tasks())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.competence", description=(__doc__ or "").splitlines()[0]
    )
    scored = [name for name, info in catalog.list_tasks().items() if info.metric is not None]
    parser.add_argument("--tasks", nargs="+", default=scored, choices=tasks, metavar="TASK", help="all with a metric")
    parser.add_argument("--rewards", nargs="+", default=["human"], choices=REWARDS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--preset", default="quick")
    parser.add_argument("--data", type=Path, default=DATA, help="keep the runs here, and go on with those it holds")
    add_options(parser)
    options = parser.parse_args()
    if options.read:
        print(render(read_records(options.read, Run)))
        return
    print(f"{machine()}\n", flush=True)
    runs = {order_run(run): run for run in read_records(options.save, Run)}
    wanted = [(task, reward) for task in options.tasks for reward in options.rewards]
    began = time.monotonic()
    for done, (task, reward) in enumerate(wanted, start=1):
        there = {run.seed for key, run in runs.items() if key[:3] == (task, reward, options.preset) and run.known}
        seeds = tuple(seed for seed in dict.fromkeys(options.seeds) if seed not in there)
        if seeds:
            job = make_job(task, reward, options.preset, seeds)
            runs |= {order_run(run): run for run in train(job, reward, options.data)}
        write_records(options.save, sorted(runs.values(), key=order_run))
        print_progress(f"{done} of {len(wanted)} in {format_duration(time.monotonic() - began)}")
    print(render([run for run in runs.values() if run.task in options.tasks]))


if __name__ == "__main__":
    main()
