"""`./prefine benchmark`: run benchmarks for chosen tasks on this machine, and write their output to one Markdown
file.
"""

from __future__ import annotations

import argparse
import ast
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from benchmarks.machine import machine
from simulation import catalog
from simulation.names import find_name, match_name
from trainer.commands.train import format_duration
from trainer.process import ROOT

PEERS = ("gymnasium", "envpool", "stable-baselines3", "rsl-rl-lib", "skrl")
"""Libraries to compare with where they are installed."""
HELPERS = {"adapters", "batch", "command", "kept", "machine", "published", "rsl_worlds", "simulated", "skrl_worlds"}
USUAL = ("stepping", "training", "lockstep", "filming")
TASKWISE = {
    "stepping",
    "training",
    "lockstep",
    "filming",
    "competence",
    "gpu",
    "round",
    "variants",
    "bridge",
    "learning",
    "diversity",
    "time_left",
    "sheets",
    "shared_experience",
    "contact_sheet",
    "off_policy",
    "preferences",
    "preference_cost",
    "controls",
    "published_rewards",
}
"""Benchmarks that have --tasks, or one --task at a time."""
ONE_TASK = {"bridge", "controls", "learning", "diversity", "time_left", "sheets", "preferences", "preference_cost"}


def names() -> list[str]:
    """The programs in this folder: files, and folders with a main program."""
    here = Path(__file__).parent
    files = {file.stem for file in here.glob("[a-z]*.py")}
    return sorted(files - HELPERS | {file.parent.name for file in here.glob("*/__main__.py")})


def find_source(name: str) -> Path:
    """The file with the program's docstring."""
    file = Path(__file__).with_name(f"{name}.py")
    return file if file.exists() else file.with_suffix("") / "__main__.py"


def commands(name: str, tasks: list[str], rest: list[str]) -> Iterator[list[str]]:
    """The command of a benchmark for these tasks; without tasks, for its own choice."""
    program = [sys.executable, "-u", "-m", f"benchmarks.{name}", *rest]
    if not tasks or name not in TASKWISE:
        yield program
    elif name in ONE_TASK:
        yield from ([*program, "--task", task] for task in tasks)
    else:
        yield [*program, "--tasks", *tasks]


def run(command: list[str], name: str) -> tuple[str, str]:
    """Its output, which is also shown as it comes, and the reason of a failure."""
    printed: list[str] = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            printed.append(line)
    failure = f"{name} failed with status {process.returncode}" if process.returncode else ""
    return "".join(printed), failure


def introduction(chosen: list[str]) -> str:
    """The head of the file: when, where and with what."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = f"{platform.system()} {platform.release()}, {memory:.0f} GiB of memory"
    return (
        f"# Benchmarks of {datetime.now():%Y-%m-%d %H:%M}\n\n{machine(*PEERS)}; {system}. Peers with a dash are not "
        f"installed (requirements-benchmarks.txt). Here: {', '.join(chosen)}.\n"
    )


def as_called(command: list[str]) -> str:
    """The command as a user types it, before its duration in the file."""
    return f"`python -m {' '.join(command[3:])}`, "


def last_time(command: list[str], folder: Path) -> str:
    """The duration of this command in the newest file of `folder` that has it; empty where none has."""
    for file in sorted(folder.glob("*.md"), key=lambda file: file.stat().st_mtime, reverse=True):
        for line in file.read_text().splitlines():
            if line.startswith(as_called(command)):
                return line.removeprefix(as_called(command)).partition(",")[0]
    return ""


def section(command: list[str], name: str) -> tuple[str, bool]:
    """A benchmark's part of the file, and whether it succeeded."""
    load, began = os.getloadavg()[0], time.monotonic()
    printed, failure = run(command, name)
    source = find_source(name).read_text()
    text = failure or (ast.get_docstring(ast.parse(source)) or "").split("\n")[0]
    took = f"{as_called(command)}{format_duration(time.monotonic() - began)}, load {load:.1f} when it began"
    return f"\n## {name}\n\n{text}\n{took}.\n\n{printed.strip()}\n", not failure


def main() -> int:
    """Run the named benchmarks; exit status 1 when one failed."""
    parser = argparse.ArgumentParser(
        prog="./prefine benchmark",
        description="Run benchmarks on this machine and write one Markdown file.",
        epilog="Options of one benchmark follow its name alone: ./prefine benchmark learning --seeds 0 1; "
        "./prefine benchmark learning --help names them.",
        add_help=False,
    )
    parser.add_argument("-h", "--help", action="store_true", help="show this, or the options of one benchmark")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(names())} ({' '.join(USUAL)})")
    parser.add_argument("--tasks", nargs="+", default=[], metavar="TASK", help="for these tasks")
    parser.add_argument("--out", type=Path, help="the file; bench/<date>.md in the data folder by default")
    options, rest = parser.parse_known_args()
    alone = match_name(options.names[0], names()) if len(options.names) == 1 else None
    if options.help and alone:
        return subprocess.run([sys.executable, "-m", f"benchmarks.{alone}", "--help"], cwd=ROOT).returncode
    if options.help:
        parser.print_help()
        return 0
    if rest and len(options.names) != 1:
        parser.error(f"{' '.join(rest)}: give options of a benchmark with its name alone")
    try:
        chosen = [find_name("benchmark", name, names()) for name in options.names or USUAL]
        tasks = [catalog.find_task_name(task) for task in options.tasks]
        return run_benchmarks(chosen, tasks, rest, options.out or default_file())
    except (OSError, ValueError) as error:
        print(f"prefine: {error}", file=sys.stderr)
        return 1


def default_file() -> Path:
    """A new file in the data folder."""
    folder = Path(os.environ.get("PREFINE_DATA", ROOT / "var")) / "benchmarks"
    return folder / f"{datetime.now():%Y-%m-%d-%H%M%S}.md"


def run_benchmarks(chosen: list[str], tasks: list[str], rest: list[str], path: Path) -> int:
    """Run them one after another, and append each to the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(introduction(chosen))
    succeeded, began = True, time.monotonic()
    steps = [(name, command) for name in chosen for command in commands(name, tasks, rest)]
    for number, (name, command) in enumerate(steps, start=1):
        before = last_time(command, path.parent)
        known = f"it took {before} last time" if before else "how long it takes is not known here yet"
        print(
            f"\n## {name}\n\n{number} of {len(steps)}, after {format_duration(time.monotonic() - began)}; {known}\n",
            flush=True,
        )
        text, fine = section(command, name)
        succeeded &= fine
        with path.open("a") as file:
            file.write(text)
    print(f"\nWritten to {path}")
    return 0 if succeeded else 1


if __name__ == "__main__":
    raise SystemExit(main())
