"""Whether the order in which papers print programs' scores is the order here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from benchmarks.published import METRICS, read_rows
from benchmarks.published_rewards.reading import Program
from webapp.base.statistics.corrections import holm
from webapp.base.statistics.group_tests import Comparison, compare_two

LEVEL = 0.05
Scores = Mapping[int, float]
"""By seed."""


@dataclass(frozen=True)
class Printed:
    """A score as a paper prints it."""

    value: float
    deviation: str
    paper: str

    @property
    def text(self) -> str:
        return f"{self.value:g}{f' +- {self.deviation}' if self.deviation else ''}"


def find_printed(program: Program) -> Printed | None:
    """The program's own score: of ICPL's table 6 and RF-Agent's tables 1 and 6, by method, task and model."""
    wanted = ("ICPL", ("6",)) if program.method == "ICPL" else ("RF-Agent", ("1", "6"))
    for row in read_rows():
        same = (row["method"], row["task"]) == (program.method, program.task) and row["metric"] in METRICS
        if same and row["paper"] == wanted[0] and row["table"] in wanted[1] and _is_model(row["note"], program):
            return Printed(float(row["value"]), row["std"], row["paper"])
    return None


def _is_model(note: str, program: Program) -> bool:
    """Whether the row is of the program's model, with or without "GPT-" before its name."""
    named, wanted = (text.casefold().removeprefix("gpt-") for text in (note, program.model))
    return program.method == "ICPL" or named == wanted


@dataclass(frozen=True)
class Pair:
    """Two programs for one task, by one paper and one model; the first is printed higher."""

    first: Program
    second: Program
    comparison: Comparison
    """The first minus the second."""
    p: float | None
    """After Holm's correction over all pairs; None where it cannot be computed."""

    @property
    def verdict(self) -> str:
        found = self.comparison.interval
        if found is None:
            return "not shown: too few seeds, or no difference"
        if found.low <= 0 <= found.high:
            return "not shown"
        strength = "" if self.p is not None and self.p < LEVEL else "seen: "
        return f"{strength}yes" if found.low > 0 else f"{strength}no, the other way round"


def list_pairs(scored: Sequence[tuple[Program, Scores]]) -> list[Pair]:
    """Every pair of programs whose printed scores can be ordered."""
    found: list[tuple[Program, Program, Comparison]] = []
    for (a, ours), (b, theirs) in combinations(scored, 2):
        one, two = find_printed(a), find_printed(b)
        alike = (a.task, a.model) == (b.task, b.model)
        if not (one and two and alike and one.paper == two.paper) or one.value == two.value:
            continue
        high, low = ((a, ours), (b, theirs)) if one.value > two.value else ((b, theirs), (a, ours))
        groups = [(one.where, {str(seed): score for seed, score in scores.items()}) for one, scores in (low, high)]
        found.append((high[0], low[0], compare_two(*groups)))
    adjusted = iter(holm([one.p for *_, one in found if one.p is not None]))
    return [Pair(*pair, None if pair[2].p is None else next(adjusted)) for pair in found]
