"""What learning from pairs costs: from answers to the next step of a training, and its share of a whole run.

    python -m benchmarks.preference_cost [--task Ant] [--baseline prefppo] [--queries 1500] [--iterations I]

First a training asks others than its teacher, seven pairs a session, and ends; timed is how long it takes from its
answers until it has stepped on: start of the process, checkpoint, reward model, relabelling, one horizon. The next two
sessions are measured. Then one whole training with a teacher is run in this process, and the processor time of
each part is counted. On a machine with other programs seconds are too many; shares of processor time are not.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks.machine import machine
from benchmarks.preferences import choose_preset
from simulation import catalog
from trainer import launch
from trainer.preferences import exchange
from trainer.preferences.algorithms import METHODS, Preferences
from trainer.preferences.learning import PreferenceTraining
from trainer.process import EXIT_WAITS
from trainer.records import TrainJob, read_progress, shard_folder
from trainer.training import Lockstep

OUTSIDE = 49
"""Answers in all of the training that waits for them: seven a session."""
SESSIONS = 3
PARTS = {
    "hold_sessions": "answers, reward model, relabelling",
    "ask": "choosing pairs",
    "rewards": "learned rewards of each horizon, segments",
}
"""Methods of PreferenceTraining, and what they do."""


def make_job(options: argparse.Namespace, queries: int, outside: bool) -> TrainJob:
    """One policy that learns from answers."""
    preset, overrides = choose_preset(options.task, METHODS[options.baseline].algorithm, options.iterations)
    wanted = Preferences(options.baseline, queries, outside=outside)
    source = catalog.read_reference_reward(options.task)
    return TrainJob(options.task, (source,), preset, overrides=overrides, film_at=(), preferences=(wanted,))


def time_answers(folder: Path, job: TrainJob) -> list[tuple[float, float]]:
    """Of each session after the first: seconds from its answers to the next step, and processor seconds of the whole
    slice that begins with it.
    """
    assert launch.train(folder, job).wait() == EXIT_WAITS
    return [answer_session(folder, job, session) for session in range(1, SESSIONS + 1)][1:]


def answer_session(folder: Path, job: TrainJob, session: int) -> tuple[float, float]:
    """Answer one session as a person who always takes the first would, and train to the next."""
    asked = exchange.read_queries(folder, 0, session)
    assert asked is not None
    before, used = read_progress(folder).samples, processor_seconds()
    began = time.monotonic()
    answers = ["first"] * len(asked.pairs)
    exchange.write_answers(folder, 0, session, asked.digest, answers)
    process, stepped = launch.train(folder, job), None
    while process.poll() is None:
        if stepped is None and read_progress(folder).samples > before:
            stepped = time.monotonic() - began
        time.sleep(0.02)
    assert process.returncode == EXIT_WAITS, folder
    return stepped or time.monotonic() - began, processor_seconds() - used


def processor_seconds() -> float:
    """Of all processes that this one has started, and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def count_parts(folder: Path, job: TrainJob) -> dict[str, float]:
    """Processor seconds of a whole training, and of its parts."""
    seconds: dict[str, float] = defaultdict(float)
    for name, title in PARTS.items():
        setattr(PreferenceTraining, name, time_function(getattr(PreferenceTraining, name), seconds, title))
    torch.set_num_threads(1)
    shard_folder(folder, 0, 1).mkdir(parents=True)
    shard = Lockstep(folder, job, 0, 1, threads=1)
    shard.open()
    shard.prepare()
    began = time.process_time()
    result = shard.train()
    assert result is not None and result.candidates[0].ok, result
    seconds["the whole training"] = time.process_time() - began
    return dict(seconds)


def time_function(function: Callable[..., Any], seconds: dict[str, float], title: str) -> Callable[..., Any]:
    """The function, whose processor time is added up."""

    def call(*arguments: Any, **named: Any) -> Any:
        began = time.process_time()
        try:
            return function(*arguments, **named)
        finally:
            seconds[title] += time.process_time() - began

    return call


def main() -> None:
    """Measure both and print two tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.preference_cost", description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="Ant")
    parser.add_argument("--baseline", default="prefppo", choices=METHODS, metavar="NAME")
    parser.add_argument("--queries", type=int, default=1500, metavar="Q", help="of the whole training (%(default)s)")
    parser.add_argument("--iterations", type=int, help="training iterations, in place of the quick settings'")
    options = parser.parse_args()
    options.task = catalog.find_task_name(options.task)
    print(f"{options.task}, {METHODS[options.baseline].title}\n\n{machine()}\n")
    with tempfile.TemporaryDirectory() as scratch:
        timings = time_answers(Path(scratch, "outside"), make_job(options, OUTSIDE, outside=True))
        print("| session of 7 pairs | s from its answers to the next step | processor s of the slice | load |")
        print("|---|---:|---:|---:|")
        for session, (seconds, used) in enumerate(timings, 2):
            print(f"| {session} | {seconds:.1f} | {used:.1f} | {os.getloadavg()[0]:.1f} |", flush=True)
        parts = count_parts(Path(scratch, "whole"), make_job(options, options.queries, outside=False))
    print(f"\n| processor time, Q = {options.queries:,} | s | share |\n|---|---:|---:|")
    for title, seconds in parts.items():
        print(f"| {title} | {seconds:.1f} | {seconds / parts['the whole training']:.1%} |")


if __name__ == "__main__":
    main()
