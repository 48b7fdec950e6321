"""Does every task learn under its human-written reward? On two cores, several seeds, beside the papers' scores.

    ./prefine benchmark competence [--tasks Ant Humanoid] [--seeds 0 1 2] [--preset paper] [--sparse]

The preset is *long* where a task has one, *quick* elsewhere, or the one that is named.

Trains task by task on all cores, the seeds of a task in one batch. What is in the data folder is read, not trained
again, and a run that was stopped goes on; after a change of what the task is made of (model, code, preset, reward,
and what it shares with other tasks) it is trained again. All tasks with a metric: some hours.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import re
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.published import references
from simulation import catalog
from trainer import launch
from trainer.commands.train import format_duration, format_training
from trainer.evaluation import evaluate
from trainer.records import CandidateResult, TrainJob, read_progress, read_result, resolve_preset

DATA = Path(os.environ.get("PREFINE_DATA", "var")) / "benchmarks" / "competence"
SEEDS, EPISODES = 5, 20
NOTES = {
    "Cartpole": "At 499 no episode ends early: there is no more to reach.",
    "BallBalance": "At 499 no episode ends early: there is no more to reach.",
    "Quadcopter": "The distance here is the one at the end of an episode.",
    "FrankaCabinet": "A cabinet of our own; an open drawer ends the episode, as published.",
    "AllegroHand": "A hand needs far more than minutes on a processor: this is what they give, not what it can.",
    "ShadowHand": "A hand needs far more than minutes on a processor: this is what they give, not what it can.",
    "HumanoidJump": "It has no metric: people decide.",
}
TELL_SECONDS = 30.0
ROOT = Path(__file__).resolve().parents[1]
CODE = ("info.py", "observations.py", "task.py")
INCLUDED = re.compile(r'<(?:include|model)\s[^>]*file="([^"]+)"')
IMPORTED = re.compile(r"^from (simulation\.(?:tasks|robots)[\w.]*) import \(?\s*(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """One seed of one task."""

    seed: int
    rts: float | None
    final: float | None
    evaluated: float | None
    """Mean of whole episodes without exploration."""
    length: float
    """Their mean length in steps."""
    samples: int
    seconds: float
    failure: str = ""


def folder_of(job: TrainJob, data: Path) -> Path:
    """The folder of this job's run; another one when preset, reward or anything that the task is made of changes."""
    digest = hashlib.sha256(repr((asdict(resolve_preset(job)), job.sources)).encode())
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


def train(job: TrainJob, data: Path) -> list[Run]:
    """Train and evaluate the seeds of this job that are missing."""
    folder = folder_of(job, data)
    result = read_result(folder)
    if result is None or result.error or result.cancelled:
        process = launch.train(folder, job, die_with_parent=True)
        try:
            while process.poll() is None:
                print_progress(f"{job.task}: {format_training(read_progress(folder))}")
                wait(process)
        except KeyboardInterrupt:
            launch.stop(process)
            raise
        result = read_result(folder)
    if result is None or result.error:
        failure = result.error if result else f"see {folder / 'log.txt'}"
        return [Run(seed, None, None, None, 0, 0, 0, failure) for seed in job.seeds]
    return [
        evaluate_seed(folder, seed, candidate, result.seconds)
        for seed, candidate in zip(job.seeds, result.candidates, strict=True)
    ]


def evaluate_seed(folder: Path, seed: int, candidate: CandidateResult, seconds: float) -> Run:
    """The scores of one seed, and of its policy without exploration."""
    if not candidate.ok:
        return Run(seed, None, None, None, 0, candidate.samples, seconds, candidate.reason)
    found, _ = evaluate(folder / "checkpoints" / "policies" / f"{candidate.index}.pt", range(SEEDS), EPISODES)
    score = found.score.mean if found.score else None
    length = found.episode_length.mean
    return Run(seed, candidate.rts, candidate.final_score, score, length, candidate.samples, seconds)


def difference(task: str, preset_name: str) -> str:
    """Caveats for comparing a score here with a printed one."""
    presets = catalog.get_task(task).presets
    budget = f"{presets[preset_name].samples / 1e6:.3g} million samples"
    if "paper" in presets:
        budget += f", the paper preset has {presets['paper'].samples / 1e6:.3g}"
    own = f" {NOTES[task]}" if task in NOTES else ""
    return f"MuJoCo and a model of our own, printed: IsaacGym's PhysX and models; {budget}.{own}"


def spread(values: list[float]) -> str:
    """Mean and standard deviation."""
    deviation = f" +- {statistics.stdev(values):.2g}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.4g}{deviation}" if values else "-"


def row(task: str, preset: str, runs: list[Run]) -> str:
    """A task's line of the table."""
    printed = references(task)
    scores = [[value for value in values if value is not None] for values in zip(*map(scores_of, runs), strict=True)]
    trained = [run for run in runs if not run.failure]
    cells = [
        f"{task}, {preset}",
        ", ".join(f"{run.seed}: {run.failure}" if run.failure else str(run.seed) for run in runs),
        *map(spread, scores),
        spread([run.length for run in trained]),
        f"{max(run.samples for run in runs):,}",
        f"{max(run.seconds for run in runs):.0f}",
        printed.get("Human", "not printed"),
        printed.get("Sparse", "not printed"),
        difference(task, preset),
    ]
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def scores_of(run: Run) -> tuple[float | None, float | None, float | None]:
    return run.rts, run.final, run.evaluated


def wait(process: subprocess.Popen[bytes]) -> None:
    """Seconds until the next line of progress, or the end."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(TELL_SECONDS)


def print_progress(line: str) -> None:
    """Progress, beside the table."""
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    """Train what is missing and print the table, a row as soon as it is known."""
    tasks = list(catalog.list_tasks())
    parser = argparse.ArgumentParser(prog="python -m benchmarks.competence", description=__doc__.splitlines()[0])
    scored = [name for name, info in catalog.list_tasks().items() if info.metric is not None]
    parser.add_argument("--tasks", nargs="+", default=scored, choices=tasks, metavar="TASK", help="all with a metric")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--preset", help="by default long where a task has one, quick elsewhere")
    parser.add_argument("--sparse", action="store_true", help="under the sparse reward, where a task has one")
    parser.add_argument("--data", type=Path, default=DATA, help="keep the runs here, and reuse those that are there")
    options = parser.parse_args()
    find_reward = catalog.read_sparse_reward if options.sparse else catalog.read_reference_reward
    wanted = [task for task in options.tasks if find_reward(task)]
    print(
        f"{'Sparse' if options.sparse else 'Human-written'} rewards, {machine()}. RTS and last interval: means over the"
    )
    print(f"exploring policies; evaluated: mean actions, {SEEDS} seeds of {EPISODES} whole episodes; +- is a standard")
    print("deviation over the training seeds. Seconds are those of training all of them, in one batch, on all cores.\n")
    names = (
        "task, preset | seeds | RTS | last interval | evaluated | episode length | samples | seconds | Human, printed"
    )
    print(f"| {names} | Sparse, printed | what differs |\n|---|---|---:|---:|---:|---:|---:|---:|---|---|---|")
    began = time.monotonic()
    for done, task in enumerate(wanted):
        seeds = tuple(dict.fromkeys(options.seeds))
        sources = (find_reward(task),) * len(seeds)
        preset = options.preset or ("long" if "long" in catalog.get_task(task).presets else "quick")
        job = TrainJob(task, sources, preset, seeds=seeds, film_at=(100,))
        print(row(task, preset, train(job, options.data)), flush=True)
        print_progress(f"{done + 1} of {len(wanted)} tasks in {format_duration(time.monotonic() - began)}")


if __name__ == "__main__":
    main()
