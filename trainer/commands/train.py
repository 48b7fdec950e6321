"""`./prefine train`: train reward files together, film the policies, print a table."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from simulation import catalog, names
from trainer import launch
from trainer.process import EXIT_DISK_FULL
from trainer.records import (
    Progress,
    TrainJob,
    TrainResult,
    count_states_at_once,
    read_progress,
    read_result,
    resolve_preset,
)

EXIT_CANCELLED = 130
REFRESH_SECONDS = 0.5
PLAIN_SECONDS = 10.0
"""Between two lines of progress where the output is no terminal."""
CANCEL_SECONDS = 30.0


def main(arguments: list[str] | None = None) -> int:
    """Train, film and report; exit status 0, 1 when something is wrong with the input or every candidate failed, 130 on
    Ctrl-C.
    """
    options = _parse_options(arguments)
    try:
        job = _make_job(options)
        folder = options.out or Path("runs", f"{job.task.lower()}-{time.strftime('%Y%m%d-%H%M%S')}")
        if not check_rewards(job, options.reward):
            return 1
        return train_and_report(folder, job, name_candidates(job, options.reward))
    except (OSError, ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1


def _parse_options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./prefine train",
        description="Train reward functions of one task together and film what each one learns.",
        epilog=catalog.describe_presets(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--task", required=True, help="a task's name, in any case")
    parser.add_argument(
        "--reward", required=True, nargs="+", type=Path, metavar="FILE", help="files defining compute_reward"
    )
    parser.add_argument("--preset", default="quick", help="training settings of the task; see below (%(default)s)")
    parser.add_argument("--algorithm", default="ppo", help="ppo or sac (%(default)s); sac takes a preset's own for it")
    parser.add_argument("--iterations", type=int, help="training iterations, in place of the preset's")
    seeds = parser.add_mutually_exclusive_group()
    seeds.add_argument("--seed", type=int, default=0, help="of weights, resets and exploration (%(default)s)")
    seeds.add_argument(
        "--seeds", type=int, nargs="+", metavar="S", help="train every reward once with each, all in one batch"
    )
    parser.add_argument(
        "--shared-experience",
        action="store_true",
        help="every reward learns from the experience of all of them (SAC only)",
    )
    parser.add_argument(
        "--out", type=Path, help="folder for traces, checkpoints, clips; an interrupted run in it goes on"
    )
    parser.add_argument(
        "--override",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="replace a number of the preset: iterations=50",
    )
    return parser.parse_args(arguments)


def parse_numbers(option: str, texts: list[str]) -> dict[str, float | int]:
    """What NAME=NUMBER texts of an option say. Raises ValueError."""
    found: dict[str, float | int] = {}
    for text in texts:
        name, _, number = text.partition("=")
        try:
            found[name] = float(number)
        except ValueError:
            raise ValueError(f"{option} {text}: give a name and a number, such as iterations=50") from None
    return found


def _make_job(options: argparse.Namespace) -> TrainJob:
    overrides = parse_numbers("--override", options.override)
    if options.iterations is not None:
        overrides["iterations"] = options.iterations
    seeds = options.seeds or [options.seed]
    task = catalog.find_task_name(options.task)
    algorithm = names.find_name("algorithm", options.algorithm, catalog.ALGORITHMS)
    sources = tuple(read_source(path) for path in options.reward)
    job = TrainJob(
        task,
        sources * len(seeds),
        catalog.find_preset_name(task, options.preset, algorithm),
        seeds[0],
        overrides,
        shared_experience=options.shared_experience,
        seeds=tuple(seed for seed in seeds for _ in sources) if len(seeds) > 1 else (),
        revision=catalog.get_task(task).revision,
    )
    resolve_preset(job)
    return job


def name_candidates(job: TrainJob, paths: list[Path]) -> list[str]:
    """Each candidate's name: its file, and its seed where there are several."""
    files = [path.name for path in paths] * (len(job.sources) // len(paths))
    if not job.seeds:
        return files
    return [f"{name}, seed {seed}" for name, seed in zip(files, job.seeds, strict=True)]


def read_source(path: Path) -> str:
    """The text of a reward file. Raises ValueError where it cannot be read."""
    try:
        return path.read_text()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text file") from None


def check_rewards(job: TrainJob, paths: list[Path]) -> bool:
    """Whether every reward passes the check; prints the verdict on those that do not."""
    verdicts = launch.check(job.task, job.sources[: len(paths)], count_states_at_once(job))
    for path, verdict in zip(paths, verdicts, strict=True):
        if not verdict.ok:
            print(f"{path} is no executable reward function ({verdict.stage}): {verdict.reason}", file=sys.stderr)
    return all(verdict.ok for verdict in verdicts)


def train_and_report(folder: Path, job: TrainJob, names: list[str]) -> int:
    """Train the job here, film its policies and print a table of the candidates of these names; the exit status."""
    process = launch.train(folder, job, die_with_parent=True)
    try:
        _follow(process, lambda: format_training(read_progress(folder)))
    except KeyboardInterrupt:
        return _cancel(process, folder)
    if process.returncode == EXIT_DISK_FULL:
        print(f"no space left on the disk of {folder}: free some and start again; it continues", file=sys.stderr)
        return 1
    result = read_result(folder)
    if result is None or result.error:
        print(result.error if result else f"training ended without a result; see {folder / 'log.txt'}", file=sys.stderr)
        return 1
    films = launch.film(_list_pairs(folder))
    try:
        failed = _film(films)
    except KeyboardInterrupt:
        launch.stop(films)
        print(f"\nStopped filming; the training is complete in {folder}.")
        return EXIT_CANCELLED
    print(format_table(names, result))
    print()
    for what, path in (
        ("Traces", "traces"),
        ("Result", "result.json"),
        ("Checkpoints", "checkpoints/policies"),
        ("Clips", "clips"),
    ):
        print(f"{what:<12} {folder / path}")
    print(f"{'Evaluate':<12} ./prefine evaluate {folder}")
    return 0 if any(c.ok for c in result.candidates) and not failed else 1


def _cancel(process: subprocess.Popen[bytes], folder: Path) -> int:
    print("\nCancelling: the run stops after this iteration.", flush=True)
    (folder / "cancel").touch()
    try:
        process.wait(CANCEL_SECONDS)
    except (KeyboardInterrupt, subprocess.TimeoutExpired):
        launch.stop(process)
    print(f"Cancelled. What was trained so far is in {folder}.")
    return EXIT_CANCELLED


def _follow(process: subprocess.Popen[bytes], line: Callable[[], str]) -> None:
    """Show the line until the process ends: redrawn on a terminal, else a line of its own every few seconds."""
    terminal, told = sys.stdout.isatty(), 0.0
    while process.poll() is None:
        if terminal:
            print(f"\r\033[K{line()}", end="", flush=True)
        elif time.monotonic() - told >= PLAIN_SECONDS:
            print(line(), flush=True)
            told = time.monotonic()
        time.sleep(REFRESH_SECONDS)
    print(f"\r\033[K{line()}" if terminal else line(), flush=True)


def format_training(progress: Progress) -> str:
    """One line about where training is."""
    if progress.phase == "starting":
        return "Training: starting"
    left = "" if progress.seconds_left is None else f", {format_duration(progress.seconds_left)} left"
    failed = sum(c.status == "failed" for c in progress.candidates)
    failures = f", {failed} of {len(progress.candidates)} failed" if failed else ""
    if progress.phase == "done":
        return f"Training: done, {progress.samples:,} samples{failures}"
    speed = f"{progress.samples_per_second:,.0f} samples/s"
    return f"Training: {progress.fraction:4.0%}{left}, {progress.samples:,} samples at {speed}{failures}"


def format_duration(seconds: float) -> str:
    """Seconds in words: 45 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _list_pairs(folder: Path) -> list[tuple[Path, Path]]:
    rollouts = sorted((folder / "rollouts").glob("*.npz"))
    return [(rollout, folder / "clips" / f"{rollout.stem}.mp4") for rollout in rollouts]


def _film(films: subprocess.Popen[str]) -> bool:
    """Wait for the clips; whether one failed, after saying which."""
    failed, count = False, 0
    for text in films.stdout or ():
        clip = json.loads(text)
        count += 1
        if not clip["ok"]:
            failed = True
            print(f"{clip['clip']} could not be filmed: {clip['error']}", file=sys.stderr)
    if films.wait() not in (0, 1):
        print(f"filming ended with status {films.returncode}", file=sys.stderr)
        return True
    print(f"Filming: done, {count} clips")
    return failed


def format_table(names: list[str], result: TrainResult) -> str:
    """RTS, final score and each component's last interval mean, one row per candidate."""
    rows = [("reward", "RTS", "final score", "components at the end")]
    for name, candidate in zip(names, result.candidates, strict=True):
        if not candidate.ok:
            rows.append((name, "-", "-", f"failed: {candidate.reason}"))
            continue
        last = {component: trace["samples"][-1] for component, trace in candidate.trace.items()}
        components = "  ".join(f"{component} {value:.3g}" for component, value in last.items())
        rows.append((name, _format_score(candidate.rts), _format_score(candidate.final_score), components))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[3]]) for row in rows
    )


def _format_score(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    raise SystemExit(main())
