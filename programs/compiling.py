"""Compile what judging runs: programs, and the grader and the checker of a problem."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from programs import jail
from programs.lock import Permissions
from programs.records import CPP, Harness, HarnessError, JailError, Limits

COMPILE_CPU_SECONDS, COMPILE_WALL_SECONDS = 20, 120.0
COMPILE_MEMORY = 2 << 30
PROGRAM_BYTES = 64 << 20
"""The largest file that a compiler may write."""
INTERPRETER_MEMORY = 96 << 20
"""Address space that Python takes before it has run a line."""
LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache")
NOTE_LETTERS = 600
NO_COMPILER = "g++ is missing on this machine, so C++ programs cannot be judged. Install it: apt-get install g++"
SOURCES = {CPP: "program.cpp", "python": "program.py"}


@dataclass(frozen=True)
class BuiltHarness:
    """The compiled parts of a problem's harness, shared by all programs that are judged together."""

    header: Mapping[str, str]
    """The header's text by its name; empty without a grader."""
    grader: Path | None = None
    """An object file with `main`."""
    checker: Path | None = None
    """A file to be run."""


def build_harness(harness: Harness, language: str, folder: Path) -> BuiltHarness:
    """Compile the grader and the checker into this folder. Raises HarnessError where one of them does not compile."""
    header = {harness.header_name: harness.header} if harness.grader else {}
    grader = checker = None
    if harness.grader:
        message = compile_cpp(folder, {"grader.cpp": harness.grader} | header, "grader.o", link=False)
        _require_compiled("grader", message)
        grader = folder / "grader.o"
    if harness.checker:
        checker = folder / ("checker" if language == CPP else "checker.py")
        if language == CPP:
            message = compile_cpp(folder, {"checker.cpp": harness.checker}, "checker")
        else:
            message = compile_python(folder, harness.checker, checker.name)
        _require_compiled("checker", message)
    return BuiltHarness(header, grader, checker)


def _require_compiled(part: str, message: str) -> None:
    if message:
        raise HarnessError(f"The problem's {part} does not compile. Mend it on the problem's page. {message}")


def compile_program(folder: Path, source: str, language: str, harness: BuiltHarness) -> str:
    """Write the program's file. Returns the compiler's message where it refuses.

    Raises JailError without a compiler.
    """
    if language != CPP:
        return compile_python(folder, source)
    objects = (harness.grader,) if harness.grader else ()
    return compile_cpp(folder, {SOURCES[CPP]: source, **harness.header}, "program", objects)


def compile_cpp(
    folder: Path, texts: Mapping[str, str], output: str, objects: Sequence[Path] = (), link: bool = True
) -> str:
    """Compile these texts by their names, with these object files, into `output` in the folder.

    Returns the compiler's message where it refuses. Raises JailError without a compiler.
    """
    compiler = shutil.which("g++", path="/usr/bin:/usr/local/bin")
    if compiler is None:
        raise JailError(NO_COMPILER)
    build = folder / "build"
    build.mkdir()
    for name, text in texts.items():
        (build / name).write_text(text)
    for file in objects:
        shutil.copy(file, build)
    (folder / "empty").touch()
    files = [name for name in (*texts, *(file.name for file in objects)) if name.endswith((".cpp", ".o"))]
    ways = ["-static"] if link else ["-c"]
    command = [compiler, "-std=c++17", "-O2", "-pipe", *ways, "-w", "-I.", "-o", output, *files]
    ended = jail.run(
        command,
        _make_permissions(compiler, build),
        build,
        folder / "empty",
        folder / "compile.out",
        COMPILE_WALL_SECONDS,
    )
    require_started(ended, command)
    made = build / output
    compiled = ended.status == 0 and made.is_file() and not made.is_symlink()
    if compiled:
        made.rename(folder / output)
        (folder / output).chmod(0o500)
    shutil.rmtree(build)
    if compiled:
        return ""
    if ended.timed_out or ended.status < 0:
        return "The compiler needed more time, memory or space than it may have."
    return shorten(ended.errors) or f"The compiler ended with status {ended.status}."


def _make_permissions(compiler: str, build: Path) -> Permissions:
    return Permissions(
        COMPILE_CPU_SECONDS,
        COMPILE_MEMORY,
        PROGRAM_BYTES,
        readable=("/usr/include", "/usr/local/include"),
        executable=(str(Path(compiler).resolve().parent), "/usr/bin", "/usr/libexec", *LIBRARIES),
        writable=(str(build),),
        compiles=True,
    )


def compile_python(folder: Path, source: str, name: str = SOURCES["python"]) -> str:
    """Write the program's file. Returns Python's message where it does not parse. Parsing runs in the jail too."""
    program = folder / name
    program.write_text(source)
    command = [*find_python(), "-c", f"import sys; compile(sys.stdin.buffer.read(), {name!r}, 'exec')"]
    permissions = grant_python((), Limits(5.0, 256, 64))
    ended = jail.run(command, permissions, folder, program, folder / "compile.out", Limits(5.0).wall_seconds)
    require_started(ended, command)
    if ended.status == 0:
        return ""
    last = ended.errors.splitlines()[-3:]
    return shorten("\n".join(last)) or "Python could not read the program."


def require_started(ended: jail.Ended, command: Sequence[str]) -> None:
    """Check that this machine's own compiler or interpreter could be executed; a C++ program's file is its own."""
    if ended.not_started:
        raise JailError(f"{command[0]} could not be started in the jail: {ended.not_started}")


def find_python() -> list[str]:
    """The command that runs Python without site packages."""
    return [os.path.realpath(sys.executable), "-I", "-S", "-B", "-X", "utf8"]


def grant_python(files: Sequence[Path], limits: Limits) -> Permissions:
    """The permissions of a Python program that may read these files and the standard library."""
    paths = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), f"{sys.base_prefix}/lib", *LIBRARIES)
    return Permissions(
        limits.whole_cpu_seconds + jail.LAUNCHER_CPU_SECONDS,
        (limits.memory_mb << 20) + INTERPRETER_MEMORY,
        limits.output_kb << 10,
        (*map(str, files), *paths),
        (os.path.realpath(sys.executable), "/lib64", "/usr/lib64", *LIBRARIES),
    )


def grant_cpp(program: Path, files: Sequence[Path], limits: Limits) -> Permissions:
    """The permissions of a compiled program that may read these files."""
    return Permissions(
        limits.whole_cpu_seconds + jail.LAUNCHER_CPU_SECONDS,
        limits.memory_mb << 20,
        limits.output_kb << 10,
        tuple(map(str, files)),
        executable=(str(program),),
    )


def shorten(text: str) -> str:
    """The first NOTE_LETTERS letters of a program's message."""
    return text if len(text) <= NOTE_LETTERS else text[:NOTE_LETTERS] + " ..."
