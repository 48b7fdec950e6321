"""`./prefine learn`: policies that learn from a simulated teacher's answers about pairs of segments."""

from __future__ import annotations

import argparse
import filecmp
import os
import shutil
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

from simulation import catalog, names
from trainer.commands.train import check_rewards, parse_numbers, read_source, train_and_report
from trainer.preferences.algorithms import METHODS, SELECTIONS, TRUTHS, Preferences, warn_of_late_metric
from trainer.records import WARM, TrainJob, resolve_preset

TEACHER = ("beta", "gamma", "mistake", "skip", "equal")


def main(arguments: list[str] | None = None) -> int:
    """Train, film and report; exit status as of `./prefine train`."""
    options = _parse_options(arguments)
    try:
        job, rows = make_job(options)
        asked = job.preferences[0]
        if asked and (words := warn_of_late_metric(catalog.get_task(job.task), asked.truth, asked.segment)):
            print(f"Warning: {words}", file=sys.stderr)
        given = [path for path in (options.reward, options.prior) if path is not None]
        folder = options.out or Path("runs", f"{job.task.lower()}-pairs-{time.strftime('%Y%m%d-%H%M%S')}")
        if given and not check_rewards(job, given):
            return 1
        if options.policy is not None:
            copy_policy(options.policy, folder, job)
        status = train_and_report(folder, job, rows)
    except (OSError, ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    if (folder / "preferences").exists():
        print(f"{'Sessions':<12} {folder / 'preferences'}")
    return status


def _parse_options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./prefine learn",
        description="Train policies from a simulated teacher's answers about pairs of segments, as PrefPPO and PEBBLE "
        "do: every number of queries with every seed, all in one batch.",
        epilog=catalog.describe_presets(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--task", required=True, help="a task's name, in any case")
    parser.add_argument("--baseline", default="prefppo", help=f"{', '.join(METHODS)} (%(default)s)")
    parser.add_argument(
        "--queries", type=int, nargs="+", default=[49], metavar="Q", help="answers in all, one policy for each (49)"
    )
    parser.add_argument("--preset", default="quick", help="training settings of the task; see below (%(default)s)")
    parser.add_argument(
        "--truth",
        help=f"what the teacher compares, summed over a segment: {' or '.join(TRUTHS)} (reward; metric with --prior)",
    )
    parser.add_argument(
        "--reward", type=Path, metavar="FILE", help="the teacher's reward, in place of the one that comes with the task"
    )
    parser.add_argument(
        "--prior", type=Path, metavar="FILE", help="a reward function, such as ICPL's winner, to which the model adds"
    )
    parser.add_argument(
        "--policy",
        type=Path,
        metavar="FILE",
        help="the policy to start from: checkpoints/policies/<candidate>.pt of a run",
    )
    parser.add_argument(
        "--segment", type=int, default=50, metavar="STEPS", help="of a segment; 0: whole episodes (%(default)s)"
    )
    parser.add_argument(
        "--selection", default="", help=f"how pairs are selected after the first session: {', '.join(SELECTIONS)}"
    )
    parser.add_argument(
        "--teacher",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help=f"how the teacher errs, in B-Pref's numbers: {', '.join(TEACHER)}",
    )
    parser.add_argument(
        "--unsupervised", type=float, default=0.02, metavar="SHARE", help="of the training, before the first session"
    )
    parser.add_argument("--beside", action="store_true", help="train on the reward itself, too, with every seed")
    parser.add_argument("--iterations", type=int, help="training iterations, in place of the preset's")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], metavar="S", help="(0)")
    parser.add_argument("--out", type=Path, help="folder for traces, sessions, clips; an interrupted run in it goes on")
    parser.add_argument(
        "--override", action="append", default=[], metavar="NAME=NUMBER", help="replace a number of the preset"
    )
    return parser.parse_args(arguments)


def make_job(options: argparse.Namespace) -> tuple[TrainJob, list[str]]:
    """The job, and a name for each of its candidates. Raises ValueError, saying what is wrong."""
    task = catalog.find_task_name(options.task)
    method = METHODS[names.find_name("baseline", options.baseline, METHODS)]
    teacher = parse_numbers("--teacher", options.teacher)
    if unknown := set(teacher) - set(TEACHER):
        raise ValueError(f"--teacher {min(unknown)}: known are {', '.join(TEACHER)}")
    asked = Preferences(
        method.name,
        truth=names.find_name("truth", options.truth or ("metric" if options.prior else "reward"), TRUTHS),
        segment=options.segment,
        selection=names.find_name("selection", options.selection, SELECTIONS) if options.selection else "",
        unsupervised=options.unsupervised,
        prior=options.prior is not None,
    )
    asked = Preferences(**asdict(asked) | teacher)
    wanted: list[Preferences | None] = [replace(asked, budget=queries) for queries in options.queries]
    titles = [f"{method.name}, Q={queries}" for queries in options.queries]
    if options.beside:
        wanted.append(None)
        titles.append("the reward itself")
    overrides = parse_numbers("--override", options.override)
    if options.iterations is not None:
        overrides["iterations"] = options.iterations
    if options.reward and options.prior:
        raise ValueError("give --reward or --prior: with --prior the teacher compares the metric")
    file = options.reward or options.prior
    source = catalog.read_reference_reward(task) if file is None else read_source(file)
    job = TrainJob(
        task,
        (source,) * (len(wanted) * len(options.seeds)),
        catalog.find_preset_name(task, options.preset, method.algorithm),
        options.seeds[0],
        overrides,
        warm=options.policy is not None,
        seeds=tuple(seed for seed in options.seeds for _ in wanted),
        preferences=tuple(wanted) * len(options.seeds),
        revision=catalog.get_task(task).revision,
    )
    resolve_preset(job)
    return job, [f"{title}, seed {seed}" for seed in options.seeds for title in titles]


def copy_policy(policy: Path, folder: Path, job: TrainJob) -> None:
    """Put the policy into the training's folder, unless an interrupted run left it there, which goes on without the
    file. Raises ValueError where that run began from another policy, or where there is none.
    """
    target = folder / WARM
    if target.exists() and policy.is_file() and not filecmp.cmp(policy, target, shallow=False):
        raise ValueError(f"the run in {folder} began from another policy than {policy}: name another folder with --out")
    if target.exists():
        return
    if not policy.is_file():
        raise ValueError(f"{policy} is no file: give a checkpoints/policies/<candidate>.pt of a run on {job.task}")
    folder.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(f".{os.getpid()}.tmp")
    try:
        shutil.copyfile(policy, temporary)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    os.replace(temporary, target)


if __name__ == "__main__":
    raise SystemExit(main())
