"""What the reward check says of published programs, and a file with the verdicts, without the programs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.kept import read_table, write_table
from benchmarks.published_rewards.reading import Program
from trainer import launch
from trainer.records import TrainJob, count_states_at_once

ACCEPTED, REFUSED, HIDDEN = "accepted", "refused", "no task here"
COLUMNS = ("task", "method", "model", "file", "verdict", "reason")


@dataclass(frozen=True)
class Checked:
    """A program and what the reward check says of it."""

    program: Program
    source: str = ""
    """The function alone; empty where it could not be taken out."""
    refused: str = ""
    """Why; empty where it is accepted."""

    @property
    def verdict(self) -> str:
        return HIDDEN if self.program.task is None else REFUSED if self.refused else ACCEPTED


def check_programs(programs: Sequence[Program], preset: str) -> list[Checked]:
    """The verdict on each."""
    found: dict[Program, Checked] = {}
    by_task: dict[str, list[tuple[Program, str]]] = {}
    for program in programs:
        try:
            if program.task is None:
                found[program] = Checked(program, refused=f"{program.named} is not among the tasks here")
            else:
                by_task.setdefault(program.task, []).append((program, program.source))
        except ValueError as error:
            found[program] = Checked(program, refused=str(error))
    for task, own in by_task.items():
        states = count_states_at_once(TrainJob(task, (own[0][1],), preset))
        for (program, source), verdict in zip(own, launch.check(task, [s for _, s in own], states), strict=True):
            found[program] = Checked(program, source, "" if verdict.ok else f"{verdict.stage}: {verdict.reason}")
    return [found[program] for program in programs]


def describe_checks(checked: Sequence[Checked]) -> Iterator[str]:
    """A row for each program that has a task here, and how many there are of each kind."""
    yield "| program | task | inputs are known, check |"
    yield "|---|---|---|"
    for one in checked:
        if one.program.task:
            said = shorten_reason(one.refused) or ACCEPTED
            yield f"| {one.program.where} | {one.program.task} | {said} |"
    counts = Counter((one.program.method, one.verdict) for one in checked)
    verdicts = (ACCEPTED, REFUSED, HIDDEN)
    yield ""
    yield "| method | programs | " + " | ".join(verdicts) + " |"
    yield "|---|---:|" + "---:|" * len(verdicts)
    for method in dict.fromkeys(one.program.method for one in checked):
        each = [counts[method, verdict] for verdict in verdicts]
        yield f"| {method} | {sum(each)} | " + " | ".join(map(str, each)) + " |"


def shorten_reason(reason: str) -> str:
    """In one cell: each fault without the list of what would be right."""
    faults = [re.sub(r"^line \d+: |; available: .*| \[.*", "", line) for line in reason.splitlines()]
    return "; ".join(dict.fromkeys(faults)).replace("|", "/")


def save_checks(path: Path, checked: Sequence[Checked]) -> None:
    """A line for each program, without names and lines of its code."""
    rows = (
        (
            one.program.named,
            one.program.method,
            one.program.model,
            one.program.where,
            one.verdict,
            hide_code(one.refused),
        )
        for one in checked
    )
    write_table(path, COLUMNS, rows)


def hide_code(reason: str) -> str:
    """The shortened reason without what stands in the program."""
    faults = re.sub(r"line \d+: | '[^']*'| in line \d+: .*", "", shorten_reason(reason)).split("; ")
    return "; ".join(fault for number, fault in enumerate(faults) if not any(fault in one for one in faults[:number]))


def read_checks(path: Path) -> list[Checked]:
    """The verdicts of such a file, without the programs."""
    return [
        Checked(Program(row["method"], row["task"], row["model"], "", row["file"]), refused=row["reason"])
        for row in read_table(path)
    ]
