"""Does the printed order of published reward programs survive on our physics?

    ./prefine benchmark published_rewards --programs FOLDER [--tasks Ant] [--check] [--seeds 5] [--save FILE]
    ./prefine benchmark published_rewards [--check] --read FILE

FOLDER is the public copy of RF-Agent's final programs (its folder reward_functions: Eureka, Revolve, RF-Agent), or a
Markdown file with programs copied from a paper; nothing of theirs is part of Prefine. Every program is checked as a
language model's is. Those that are accepted are trained here with each seed, and evaluated over 100 episodes of mean
actions. Stopped and started again it goes on. --save writes the score of each policy; --read counts such a file again
and needs no program. With --check nothing is trained, and the two have the verdicts in place of scores.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.batch import Training, Trainings
from benchmarks.machine import machine
from benchmarks.published_rewards.checks import (
    ACCEPTED,
    Checked,
    check_programs,
    describe_checks,
    read_checks,
    save_checks,
)
from benchmarks.published_rewards.order import Scores, find_printed, list_pairs
from benchmarks.published_rewards.reading import Program, read_programs
from benchmarks.published_rewards.table import read_scores, save_scores
from llm.methods.retrain import EPISODES
from simulation import catalog
from webapp.base.statistics.group_tests import summarize_mean


def train_programs(checked: Sequence[Checked], options: argparse.Namespace) -> Iterator[tuple[Program, Scores]]:
    """The scores of each accepted program, task by task."""
    accepted = [one for one in checked if one.verdict == ACCEPTED]
    for task in dict.fromkeys(one.program.task for one in accepted):
        assert task is not None
        own = [one for one in accepted if one.program.task == task]
        trainings = Trainings(options.data / task, task, preset=options.preset)
        wanted = {one: [Training(one.source, seed, EPISODES) for seed in range(options.seeds)] for one in own}
        trainings.train(training for many in wanted.values() for training in many)
        for one, many in wanted.items():
            found = {training.seed: trainings.find(training).evaluation.get("score") for training in many}
            yield one.program, {seed: score for seed, score in found.items() if score is not None}


def describe_scores(scored: Sequence[tuple[Program, Scores]]) -> Iterator[str]:
    """A row for each program."""
    yield "| task | model | program of | printed | here | 95% interval | seeds |"
    yield "|---|---|---|---:|---:|---|---:|"
    for program, scores in scored:
        printed = find_printed(program)
        head = f"| {program.task} | {program.model or '-'} | {program.method} | {printed.text if printed else '-'} "
        if not scores:
            yield f"{head}| no training reached its end | - | 0 |"
            continue
        found = summarize_mean(list(scores.values()))
        interval = f"{found.interval.low:.3g} to {found.interval.high:.3g}" if found.interval else "-"
        yield f"{head}| {found.mean:.3g} | {interval} | {found.count} |"


def describe_order(scored: Sequence[tuple[Program, Scores]]) -> Iterator[str]:
    """A row for each pair that the papers order, and how many survive."""
    pairs = list_pairs(scored)
    yield "| task | model | printed order | difference here | 95% interval | p, Holm | does it survive? |"
    yield "|---|---|---|---:|---|---:|---|"
    for one in pairs:
        found = one.comparison
        interval = f"{found.interval.low:.3g} to {found.interval.high:.3g}" if found.interval else "-"
        order = f"{one.first.method} > {one.second.method}"
        place = f"| {one.first.task} | {one.first.model or '-'} | {order} "
        p = f"{one.p:.2g}" if one.p is not None else "-"
        yield f"{place}| {found.difference:.3g} | {interval} | {p} | {one.verdict} |"
    counts = Counter(re.split(r"[:,]", one.verdict)[0] for one in pairs)
    yield ""
    told = f"{counts['no']} are the other way round, {counts['not shown'] + counts['seen']} cannot be told"
    yield f"Of {len(pairs)} printed orders {counts['yes']} survive, {told}. Intervals: Student's t, paired by seed, not"
    yield "corrected for their number; seen: such an interval leaves out 0, p after Holm's correction is above 0.05."


def main() -> int:
    """Check, train what is missing, print."""
    data = Path(os.environ.get("PREFINE_DATA", "var")) / "benchmarks" / "published_rewards"
    parser = argparse.ArgumentParser(prog="python -m benchmarks.published_rewards", description=__doc__.splitlines()[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--programs", type=Path, metavar="FOLDER", help="a folder, or a Markdown file, with programs")
    source.add_argument("--read", type=Path, metavar="FILE", help="train nothing: count what this file holds")
    parser.add_argument("--tasks", nargs="+", default=[], metavar="TASK", help="these alone")
    parser.add_argument("--check", action="store_true", help="check the programs, train nothing")
    parser.add_argument("--seeds", type=int, default=5, help="with which each program is trained")
    parser.add_argument("--preset", default="quick")
    parser.add_argument(
        "--data", type=Path, default=data, help="keep trainings here, and go on with those that are there"
    )
    parser.add_argument("--save", type=Path, metavar="FILE", help="write each policy's score, or verdict, to this file")
    options = parser.parse_args()
    try:
        tasks = [catalog.find_task_name(task) for task in options.tasks]
        if options.read and options.check:
            print(
                "\n".join(
                    describe_checks(
                        [one for one in read_checks(options.read) if one.program.task in tasks or not tasks]
                    )
                )
            )
            return 0
        if options.read:
            scored = [one for one in read_scores(options.read, options.preset) if not tasks or one[0].task in tasks]
            report(scored, options.preset)
            return 0
        programs = [one for one in read_programs(options.programs) if not tasks or one.task in tasks]
    except (OSError, ValueError) as error:
        print(f"published_rewards: {error}", file=sys.stderr)
        return 1
    checked = check_programs(programs, options.preset)
    print(f"{len(programs)} programs of {options.programs}; {machine()}\n")
    print("\n".join(describe_checks(checked)), flush=True)
    if options.check:
        if options.save:
            save_checks(options.save, checked)
        return 0
    scored = list(train_programs(checked, options))
    if options.save:
        save_scores(options.save, options.preset, scored)
    report(scored, options.preset)
    return 0


def report(scored: Sequence[tuple[Program, Scores]], preset: str) -> None:
    """Print both tables."""
    print(f"\nPreset {preset}; scores: the task's metric, {EPISODES} episodes of mean actions of each policy\n")
    print("\n".join(describe_scores(scored)) + "\n")
    print("\n".join(describe_order(scored)))


if __name__ == "__main__":
    sys.exit(main())
