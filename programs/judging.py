"""Run programs on test cases, with the grader and the checker of their problem, and score them by subtask."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from programs import folders, jail
from programs.compiling import (
    SOURCES,
    BuiltHarness,
    build_harness,
    compile_program,
    find_python,
    grant_cpp,
    grant_python,
    require_started,
    shorten,
)
from programs.records import CPP, LANGUAGES, Case, CaseResult, Harness, HarnessError, Limits, Report

SOURCE_BYTES = 256 << 10
CHECKER_LIMITS = Limits(10.0, 1024, 64)
NO_HARNESS = Harness()


def judge(
    sources: Sequence[str],
    language: str,
    cases: Sequence[Case],
    limits: Limits,
    stop_check: Callable[[], None] = lambda: None,
    harness: Harness = NO_HARNESS,
) -> list[Report]:
    """Each program's report, in order; as many at once as there are processors.

    `stop_check` is called, from any thread, before every run; what it raises ends the judging. Raises JailError when
    this machine cannot judge, HarnessError when the problem's grader or checker does not work, ValueError for an
    unknown language.
    """
    if language not in LANGUAGES:
        raise ValueError(f"unknown language {language!r}; known: {', '.join(LANGUAGES)}")
    folders.remove_abandoned()
    with folders.lock_program_folder() as shared, ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        built = build_harness(harness, language, shared)
        if built.checker and cases:
            _try_checker(built.checker, cases[0], shared)
        one = partial(_judge_one, language=language, cases=cases, limits=limits, harness=built, stop_check=stop_check)
        return list(pool.map(one, sources))


def _judge_one(
    source: str,
    language: str,
    cases: Sequence[Case],
    limits: Limits,
    harness: BuiltHarness,
    stop_check: Callable[[], None],
) -> Report:
    if len(source.encode()) > SOURCE_BYTES:
        return Report(False, f"The program is longer than {SOURCE_BYTES >> 10} KB.")
    with folders.lock_program_folder() as folder:
        stop_check()
        message = compile_program(folder, source, language, harness)
        if message:
            return Report(False, message)
        results = []
        for case in cases:
            stop_check()
            results.append(_run(case, folder, language, limits, harness))
        return Report(True, "", tuple(results))


def _run(case: Case, folder: Path, language: str, limits: Limits, harness: BuiltHarness) -> CaseResult:
    stdin, stdout = folder / "case.in", folder / "case.out"
    stdin.write_text(case.stdin)
    ended = _execute(folder / (SOURCES[language] if language != CPP else "program"), [], folder, stdin, stdout, limits)
    printed = stdout.read_bytes()
    verdict, share, note = _name_verdict(ended, len(printed), limits), 0.0, ""
    if verdict == "ok" and harness.checker:
        verdict, share, note = _check(case, folder, harness.checker)
    elif verdict == "ok" and printed.split() != case.expected.encode().split():
        verdict = "wrong"
    answered = verdict in ("ok", "wrong", "part")
    output = hashlib.sha256(b" ".join(printed.split())).hexdigest() if answered else ""
    seconds, memory = round(ended.seconds, 3), round(ended.memory_mb, 1)
    return CaseResult(verdict, seconds, memory, note or _note(ended, verdict), output, share)


def _execute(
    program: Path, arguments: Sequence[Path], folder: Path, stdin: Path, stdout: Path, limits: Limits
) -> jail.Ended:
    """Run a compiled program, or one in Python by its ending. It may read these arguments' files and its own."""
    names = [str(path) for path in (program, *arguments)]
    if program.suffix == ".py":
        command, permissions = [*find_python(), *names], grant_python((program, *arguments), limits)
    else:
        command, permissions = names, grant_cpp(program, arguments, limits)
    ended = jail.run(command, permissions, folder, stdin, stdout, limits.wall_seconds)
    if program.suffix == ".py":
        require_started(ended, command)
    return ended


def _try_checker(checker: Path, case: Case, folder: Path) -> None:
    """Have the checker read the expected output as if a program had printed it. Raises HarnessError where it cannot."""
    (folder / "case.in").write_text(case.stdin)
    (folder / "case.out").write_text(case.expected)
    share, said = _run_checker(case, folder, checker)
    if share is None:
        raise HarnessError(
            f"The problem's checker must print a number from 0 to 1. {said} Mend it on the problem's page."
        )


def _check(case: Case, folder: Path, checker: Path) -> tuple[str, float, str]:
    """Verdict, share and message of the problem's checker. What it cannot read is wrong."""
    share, said = _run_checker(case, folder, checker)
    if share is None:
        return "wrong", 0.0, "The checker could not read what was printed."
    verdict = "ok" if share == 1.0 else "part" if share else "wrong"
    return verdict, share, "" if verdict == "ok" else said


def _run_checker(case: Case, folder: Path, checker: Path) -> tuple[float | None, str]:
    """The share that the checker prints, and its message; None and what happened, where it prints no such number."""
    expected, empty, said = folder / "case.expected", folder / "nothing", folder / "checker.out"
    expected.write_text(case.expected)
    empty.touch()
    files = [folder / "case.in", expected, folder / "case.out"]
    ended = _execute(checker, files, folder, empty, said, CHECKER_LIMITS)
    try:
        share = float(said.read_bytes().split()[0])
    except (ValueError, IndexError):
        share = -1.0
    if ended.status or ended.not_started or ended.timed_out or not 0.0 <= share <= 1.0:
        printed = shorten(said.read_bytes().decode(errors="replace"))
        return None, f"It ended with status {ended.status} and printed {printed!r}. {shorten(ended.errors)}"
    return share, shorten(ended.errors)


def _name_verdict(ended: jail.Ended, printed: int, limits: Limits) -> str:
    """How a run ended, before its output is looked at."""
    if ended.timed_out or ended.seconds > limits.cpu_seconds:
        return "time"
    if printed >= limits.output_kb << 10:
        return "output"
    if ended.status == 0:
        return "ok"
    return "memory" if "bad_alloc" in ended.errors or "MemoryError" in ended.errors else "crash"


def _note(ended: jail.Ended, verdict: str) -> str:
    if verdict not in ("crash", "memory"):
        return ""
    if ended.not_started:
        return shorten(f"The system could not start the program: {ended.not_started}.")
    how = f"ended by signal {-ended.status}" if ended.status < 0 else f"ended with status {ended.status}"
    return shorten(f"{how}. {' '.join(ended.errors.split()[-60:])}".strip())


@dataclass(frozen=True)
class Subtask:
    """A program's points on one subtask: as many as its worst case is worth, as at the IOI."""

    number: int
    points: float
    passed: int
    cases: int
    worst: float
    """What its worst case is worth, from 0 to 1."""

    @property
    def earned(self) -> float:
        """Points."""
        return self.points * self.worst


def grade_subtasks(report: Report, cases: Sequence[Case], points: Mapping[int, float]) -> tuple[Subtask, ...]:
    """The subtasks in order of their numbers. A program that did not compile passed nothing."""
    results = report.results or tuple(CaseResult("", 0.0, 0.0) for _ in cases)
    found = []
    for number in sorted({case.subtask for case in cases}):
        own = [r.worth for r, case in zip(results, cases, strict=True) if case.subtask == number]
        found.append(Subtask(number, points.get(number, 1.0), own.count(1.0), len(own), min(own)))
    return tuple(found)


def compute_share(subtasks: Sequence[Subtask]) -> float:
    """Points earned over points there are, in [0, 1]."""
    whole = sum(s.points for s in subtasks)
    return sum(s.earned for s in subtasks) / whole if whole else 0.0
