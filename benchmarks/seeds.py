"""What few seeds say, with intervals: from docs/comparisons/seeds.csv, a line for each run; nothing is trained.

    ./prefine benchmark seeds [--read FILE]

The first arm of a question is what the others are set against, seed by seed. Intervals are Student's t (95%), not
corrected for how many there are.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

from benchmarks.compared import spread, subtract
from benchmarks.kept import KEPT, read_table

Runs = dict[str, dict[int, float]]
"""Arm -> seed -> value."""


def main() -> None:
    """Print a table for each question."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.seeds", description=__doc__.splitlines()[0])
    parser.add_argument("--read", type=Path, default=KEPT / "seeds.csv", metavar="FILE", help="(docs/comparisons)")
    print("\n\n".join(render(question, runs) for question, runs in read(parser.parse_args().read).items()))


def read(path: Path) -> dict[str, Runs]:
    """By question, the runs of each arm, in the order of the file."""
    found: dict[str, Runs] = defaultdict(lambda: defaultdict(dict))
    for row in read_table(path):
        found[row["question"]][row["arm"]][int(row["seed"])] = float(row["value"])
    return found


def render(question: str, runs: Runs) -> str:
    """Each arm's values by seed, their mean, and how far they lie above the first arm's."""
    first = next(iter(runs.values()))
    lines = [f"### {question}", "", "| arm | by seed | mean | less the first |", "|---|---|---|---|"]
    for arm, values in runs.items():
        gap = "" if values is first else subtract(values, first)
        lines.append(
            f"| {arm} | {', '.join(f'{v:g}' for v in values.values())} | {spread([*values.values()])} | {gap} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
