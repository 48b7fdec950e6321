"""Compile a program and run it on test cases, scored by subtask."""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from programs import folders, jail
from programs.lock import Permissions
from programs.records import CPP, LANGUAGES, Case, CaseResult, JailError, Limits, Report

COMPILE_CPU_SECONDS, COMPILE_WALL_SECONDS = 20, 120.0
COMPILE_MEMORY = 2 << 30
PROGRAM_BYTES = 64 << 20
"""The largest file that a compiler may write."""
SOURCE_BYTES = 256 << 10
INTERPRETER_MEMORY = 96 << 20
"""Address space that Python takes before it has run a line."""
LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache")
NOTE_LETTERS = 600
NO_COMPILER = "g++ is missing on this machine, so C++ programs cannot be judged. Install it: apt-get install g++"


def judge(
    sources: Sequence[str],
    language: str,
    cases: Sequence[Case],
    limits: Limits,
    stop_check: Callable[[], None] = lambda: None,
) -> list[Report]:
    """Each program's report, in order; as many at once as there are processors.

    `stop_check` is called, from any thread, before every run; what it raises ends the judging. Raises JailError when
    this machine cannot judge, ValueError for an unknown language.
    """
    if language not in LANGUAGES:
        raise ValueError(f"unknown language {language!r}; known: {', '.join(LANGUAGES)}")
    folders.remove_abandoned()
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        one = partial(_judge_one, language=language, cases=cases, limits=limits, stop_check=stop_check)
        return list(pool.map(one, sources))


def _judge_one(
    source: str, language: str, cases: Sequence[Case], limits: Limits, stop_check: Callable[[], None]
) -> Report:
    if len(source.encode()) > SOURCE_BYTES:
        return Report(False, f"The program is longer than {SOURCE_BYTES >> 10} KB.")
    with folders.program_folder() as folder:
        stop_check()
        message = _compile_cpp(source, folder) if language == CPP else _compile_python(source, folder)
        if message:
            return Report(False, message)
        results = []
        for case in cases:
            stop_check()
            results.append(_run(case, folder, language, limits))
        return Report(True, "", tuple(results))


def _compile_cpp(source: str, folder: Path) -> str:
    """Write the program file. Returns the compiler's message where it refuses. Raises JailError without a compiler."""
    compiler = shutil.which("g++", path="/usr/bin:/usr/local/bin")
    if compiler is None:
        raise JailError(NO_COMPILER)
    build = folder / "build"
    build.mkdir()
    (build / "program.cpp").write_text(source)
    (folder / "empty").touch()
    roots = (str(Path(compiler).resolve().parent), "/usr/bin", "/usr/libexec", *LIBRARIES)
    permissions = Permissions(
        COMPILE_CPU_SECONDS,
        COMPILE_MEMORY,
        PROGRAM_BYTES,
        readable=("/usr/include", "/usr/local/include"),
        executable=roots,
        writable=(str(build),),
        compiles=True,
    )
    command = [compiler, "-std=c++17", "-O2", "-pipe", "-static", "-w", "-o", "program", "program.cpp"]
    ended = jail.run(command, permissions, build, folder / "empty", folder / "compile.out", COMPILE_WALL_SECONDS)
    _require_started(ended, command)
    program = build / "program"
    if ended.status == 0 and program.is_file() and not program.is_symlink():
        program.rename(folder / "program")
        (folder / "program").chmod(0o500)
        shutil.rmtree(build)
        return ""
    if ended.timed_out or ended.status < 0:
        return "The compiler needed more time, memory or space than it may have."
    return _short(ended.errors) or f"The compiler ended with status {ended.status}."


def _compile_python(source: str, folder: Path) -> str:
    """Write the program file. Returns Python's message where it does not parse. Parsing runs in the jail too."""
    program = folder / "program.py"
    program.write_text(source)
    command = [*_python(), "-c", "import sys; compile(sys.stdin.buffer.read(), 'program.py', 'exec')"]
    permissions = _permissions(folder, "python", Limits(5.0, 256, 64))
    ended = jail.run(command, permissions, folder, program, folder / "compile.out", Limits(5.0).wall_seconds)
    _require_started(ended, command)
    if ended.status == 0:
        return ""
    last = ended.errors.splitlines()[-3:]
    return _short("\n".join(last)) or "Python could not read the program."


def _require_started(ended: jail.Ended, command: Sequence[str]) -> None:
    """Check that this machine's own compiler or interpreter could be executed; a C++ program's file is its own."""
    if ended.not_started:
        raise JailError(f"{command[0]} could not be started in the jail: {ended.not_started}")


def _python() -> list[str]:
    return [os.path.realpath(sys.executable), "-I", "-S", "-B", "-X", "utf8"]


def _permissions(folder: Path, language: str, limits: Limits) -> Permissions:
    """A run may read its own program and, in Python, the standard library; it may write nothing but its output."""
    cpu = math.ceil(limits.cpu_seconds) + jail.LAUNCHER_CPU_SECONDS
    memory, output = limits.memory_mb << 20, limits.output_kb << 10
    if language == CPP:
        return Permissions(cpu, memory, output, executable=(str(folder / "program"),))
    interpreter = os.path.realpath(sys.executable)
    paths = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), f"{sys.base_prefix}/lib", *LIBRARIES)
    readable = (str(folder / "program.py"), *paths)
    return Permissions(
        cpu, memory + INTERPRETER_MEMORY, output, readable, (interpreter, "/lib64", "/usr/lib64", *LIBRARIES)
    )


def _run(case: Case, folder: Path, language: str, limits: Limits) -> CaseResult:
    stdin, stdout = folder / "case.in", folder / "case.out"
    stdin.write_text(case.stdin)
    program = [str(folder / "program")] if language == CPP else [*_python(), str(folder / "program.py")]
    ended = jail.run(program, _permissions(folder, language, limits), folder, stdin, stdout, limits.wall_seconds)
    if language != CPP:
        _require_started(ended, program)
    printed = stdout.read_bytes()
    verdict = _verdict(ended, len(printed), limits)
    tokens = printed.split()
    if verdict == "ok" and tokens != case.expected.encode().split():
        verdict = "wrong"
    output = hashlib.sha256(b" ".join(tokens)).hexdigest() if verdict in ("ok", "wrong") else ""
    return CaseResult(verdict, round(ended.seconds, 3), round(ended.memory_mb, 1), _note(ended, verdict), output)


def _verdict(ended: jail.Ended, printed: int, limits: Limits) -> str:
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
        return _short(f"The system could not start the program: {ended.not_started}.")
    how = f"ended by signal {-ended.status}" if ended.status < 0 else f"ended with status {ended.status}"
    return _short(f"{how}. {' '.join(ended.errors.split()[-60:])}".strip())


def _short(text: str) -> str:
    return text if len(text) <= NOTE_LETTERS else text[:NOTE_LETTERS] + " ..."


@dataclass(frozen=True)
class Subtask:
    """A program's points on one subtask: all of its points, where every case was right, or none."""

    number: int
    points: float
    passed: int
    cases: int

    @property
    def earned(self) -> float:
        """Points, all or none."""
        return self.points if self.cases and self.passed == self.cases else 0.0


def by_subtask(report: Report, cases: Sequence[Case], points: Mapping[int, float]) -> tuple[Subtask, ...]:
    """The subtasks in order of their numbers. A program that did not compile passed nothing."""
    verdicts = [r.verdict for r in report.results] or [""] * len(cases)
    numbers = sorted({case.subtask for case in cases})
    return tuple(
        Subtask(
            number,
            points.get(number, 1.0),
            sum(v == "ok" for v, case in zip(verdicts, cases, strict=True) if case.subtask == number),
            sum(case.subtask == number for case in cases),
        )
        for number in numbers
    )


def share(subtasks: Sequence[Subtask]) -> float:
    """Points earned over points there are, in [0, 1]."""
    whole = sum(s.points for s in subtasks)
    return sum(s.earned for s in subtasks) / whole if whole else 0.0
