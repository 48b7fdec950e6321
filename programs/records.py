"""Programs and test cases, limits, and results."""

from __future__ import annotations

import math
from dataclasses import dataclass

CPP, PYTHON = "cpp", "python"
LANGUAGES = (CPP, PYTHON)
VERDICTS = ("ok", "part", "wrong", "time", "memory", "output", "crash")
"""Of one case: right; partly right; wrong output; too slow; out of memory; wrote too much; ended by an error."""


@dataclass(frozen=True)
class Limits:
    """What one run of a program may use."""

    cpu_seconds: float = 2.0
    memory_mb: int = 256
    output_kb: int = 16_384

    @property
    def wall_seconds(self) -> float:
        """Generous, because the machine may be busy; it only ends programs that sleep or wait."""
        return 5.0 * self.cpu_seconds + 5.0

    @property
    def whole_cpu_seconds(self) -> int:
        """Rounded up, as the kernel's limit has it."""
        return math.ceil(self.cpu_seconds)


@dataclass(frozen=True)
class Case:
    """One run: what the program reads and what it should print."""

    stdin: str
    expected: str
    subtask: int = 1


@dataclass(frozen=True)
class Harness:
    """What a problem brings along to judge its programs, in their language; each text may be empty."""

    header: str = ""
    """Declares the functions that a program implements (C++)."""
    header_name: str = ""
    """How a program includes it, for example "weights.h"."""
    grader: str = ""
    """Compiled with a program (C++): its `main` reads the case, calls these functions and prints what they answer."""
    checker: str = ""
    """A program that is given three files, the case's input, the expected output and what was printed, and prints a
    number from 0 to 1; what it writes to stderr is shown."""


@dataclass(frozen=True)
class CaseResult:
    """The result of one case."""

    verdict: str
    """One of VERDICTS."""
    seconds: float
    """Processor time."""
    memory_mb: float
    """The largest resident size; the launcher takes 20 MB, so smaller sizes do not show."""
    note: str = ""
    """The program's stderr, or the signal that ended it; shortened."""
    output: str = ""
    """SHA-256 of what it printed, white space evened out: equal for equal answers, empty where it failed."""
    share: float = 0.0
    """The share of its points that a partly right test case gets."""

    @property
    def worth(self) -> float:
        """The share of its points that the test case gets, from 0 to 1."""
        return {"ok": 1.0, "part": self.share}.get(self.verdict, 0.0)


@dataclass(frozen=True)
class Report:
    """The result of one program."""

    compiled: bool
    message: str = ""
    """The compiler's message where it did not compile."""
    results: tuple[CaseResult, ...] = ()
    """One a case, in order; none where it did not compile."""


class JailError(RuntimeError):
    """The jail could not be built, or the compiler is missing; this is no verdict on the program."""


class HarnessError(RuntimeError):
    """A problem's grader or checker does not work; this is no verdict on the program. The message is for the author."""
