"""What is run, under which limits, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

CPP, PYTHON = "cpp", "python"
LANGUAGES = (CPP, PYTHON)
VERDICTS = ("ok", "wrong", "time", "memory", "output", "crash")
"""Of one case: right; wrong output; too slow; out of memory; wrote too much; ended by an error."""


@dataclass(frozen=True)
class Limits:
    """What one run of a program may use."""

    cpu_seconds: float = 2.0
    memory_mb: int = 256
    output_kb: int = 16_384

    @property
    def wall_seconds(self) -> float:
        """Generous, because the machine may be busy: it ends what sleeps or waits."""
        return 5.0 * self.cpu_seconds + 5.0


@dataclass(frozen=True)
class Case:
    """One run: what the program reads and what it should print."""

    stdin: str
    expected: str
    subtask: int = 1


@dataclass(frozen=True)
class CaseResult:
    """What became of one case."""

    verdict: str
    """One of VERDICTS."""
    seconds: float
    """Processor time."""
    memory_mb: float
    """The most that was resident at once; what started it took 20 MB, so that less is not seen."""
    note: str = ""
    """What the program said on stderr, or which signal ended it; shortened."""
    output: str = ""
    """SHA-256 of what it printed, white space evened out: equal for equal answers, empty where it failed."""


@dataclass(frozen=True)
class Report:
    """What became of one program."""

    compiled: bool
    message: str = ""
    """What the compiler said, where it did not compile."""
    results: tuple[CaseResult, ...] = ()
    """One a case, in order; none where it did not compile."""


class JailError(RuntimeError):
    """The jail could not be built, or the compiler is missing: says nothing about the program."""
